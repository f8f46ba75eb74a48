"""What the tests share and nobody else needs: machines for them, tiers, reports."""
