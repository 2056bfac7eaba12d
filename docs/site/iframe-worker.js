// Search runs in a worker, which browsers refuse to start from a file. There a hidden frame takes its place.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      this.ready = new Promise(resolve => {
        inside.document.open();
        inside.document.write("<!doctype html><html><body></body></html>");
        inside.document.close();
        // What the worker's script calls: answers go to this object, later scripts become elements.
        inside.postMessage = data => this.answer(data);
        inside.importScripts = (...urls) => Promise.all(urls.map(next => this.load(new URL(next, url).href)));
        this.load(url).then(resolve);
      });
    }

    load(url) {
      return new Promise((resolve, reject) => {
        const script = this.frame.contentDocument.createElement("script");
        script.src = url;
        script.onload = resolve;
        script.onerror = reject;
        this.frame.contentDocument.body.append(script);
      });
    }

    answer(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }

    postMessage(data) {
      this.ready.then(() => {
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      });
    }

    terminate() {
      this.frame.remove();
    }
  };
}
