"""The files that examples of keys name (`edgefl explain`)."""


def write_example_files(folder):
    """Write them to a folder, so that the examples can be loaded from there."""
    (folder / "my_modules").mkdir()
    (folder / "times.csv").write_text("device,network,batch_size,step_s\npi4,mlp,50,0.1\n")
    (folder / "grid.csv").write_text("time_s,g_kwh\n0,350\n3600,300\n")
    (folder / "presence.csv").write_text("device,on_s,off_s\n0,0,10\n")
    (folder / "lte.down").write_text("1\n")
    (folder / "lte.up").write_text("4\n")
    (folder / "logs").mkdir()
    log = "Timestamp,DL_bitrate,UL_bitrate,SNR\n2019.12.14_10.16.30,9000,900,7\n"
    (folder / "logs" / "phone.csv").write_text(log)
