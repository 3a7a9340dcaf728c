"""What people reported, as tests that nobody weakens by accident: each case with the input that showed it.

The rest of each kind is tested where the thing itself is; here it is the case as a person meets it. Two cases are whole
elsewhere: 10 in ``tests/memory/services/transfer/test_forgotten.py``, 11 in
``tests/memory/services/review/test_contradicting.py``.
"""
