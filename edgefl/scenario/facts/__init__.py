"""Facts about a scenario: what rules between sections are about, each as one small question.

A fact reads flags of policies, selections, algorithms and other members, never their classes: so a member from outside
the package meets the same rules. The page of the rules says what stands in its docstring after "Return whether".
"""
