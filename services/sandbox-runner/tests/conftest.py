from assay_testkit.sandboxes import blocked_sandbox, bubblewrap, daytona, double, skills

__all__ = ["blocked_sandbox", "bubblewrap", "daytona", "double", "skills"]
