"""Assignments that mark themselves: a robot for every student, experiments within a budget, marks from the truth.

The truth comes from the class's secret and the student's name (`secret`). A handout (`handout`) and the records of experiments
(`request`, `measure`) go to the student; the secret, the ledger and the marks stay in the teacher's folder (`ledger`).
`marking` has the rules, `board` the page for the class, `quiz` the questions of the lessons. Imports the rooms up to `studies`.
"""
