"""The paper's evaluation from one command: plan → jobs → results → report."""
