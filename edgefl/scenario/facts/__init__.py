"""Facts about a scenario: the small questions that make up rules between sections.

A fact reads flags of policies, selections, algorithms and other members, never their classes, so that members from
outside the package meet the same rules.
"""
