"""What a customer's own device does where nobody else is to be trusted: its price, and what leaves it.

Standard library alone, so that a device needs nothing else. docs/proofs/trust.md says what each report tells whom.

    question.py   what a batch asks of every device: public numbers, the price they lead to, what a record adds
    bits.py       trust `local` and `shuffle`: one bit, turned over by chance
    attributes.py  what a customer is like, as the entries of a context
    drawn_price.py  a price drawn by a private mechanism, where even that is to say little
    till.py       from that price to one that is charged
    shares.py     trust `aggregated`: whole numbers in two shares, each of which alone is noise
"""
