"""The measured comparison: native Linux, SHIMOS, KVM and Xen on one machine; see run.py."""
