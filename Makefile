# SPDX-License-Identifier: GPL-2.0
# Building by hand; ./demo and ./test do all of it by themselves.
# What for, as Debian calls it: amd64 or arm64.  Another one than this computer's needs Debian's
# cross-compilers, and of that architecture musl-dev, libstd-rust-dev and the kernel's headers.
HERE := $(patsubst aarch64,arm64,$(patsubst x86_64,amd64,$(shell uname -m)))
ARCH ?= $(HERE)
TRIPLE := $(patsubst arm64,aarch64,$(patsubst amd64,x86_64,$(ARCH)))-linux
CROSS_COMPILE ?= $(if $(filter-out $(HERE),$(ARCH)),$(TRIPLE)-gnu-)
TARGET_CC = $(if $(CROSS_COMPILE),$(CROSS_COMPILE)gcc,$(CC))
KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build
# Debian's kernels know their compiler, and take from here only that it is a cross-compiler.
KBUILD = $(MAKE) -C $(KDIR) $(if $(CROSS_COMPILE),ARCH=$(ARCH) CROSS_COMPILE=$(CROSS_COMPILE))
# Where products go; the lab names a place outside of the tree.
BUILD ?= build
OUT ?= $(BUILD)/$(KVER)
SPARSE ?= 0

# Only what differs: make goes by times, and the same OUT may serve several trees.
copy = mkdir -p $(2) && cd $(1) && find . -type f | while read -r f; do \
	cmp -s "$$f" "$(abspath $(2))/$$f" || install -D -m 644 "$$f" "$(abspath $(2))/$$f" || exit; done

.PHONY: help modules
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

modules: ## build the kernel modules for KVER into OUT (KVER=…, OUT=…)
	$(call copy,kernel,$(OUT)/tree)
	$(KBUILD) M=$(abspath $(OUT))/tree C=$(SPARSE) modules
	cp $(OUT)/tree/*/shimos_*.ko $(OUT)/

.PHONY: init
init: ## build the partitions' first program into OUT (OUT=…)
	mkdir -p $(OUT)
	$(if $(CROSS_COMPILE),$(CROSS_COMPILE)gcc -specs /usr/lib/$(TRIPLE)-musl/musl-gcc.specs,musl-gcc) -static -Os -s -Wall -Wextra -Wno-unused-result -Werror \
		-o $(OUT)/init kernel/init/init.c

# Headers that only the kernel has, for the unit tests: all lead to one stub.
STUBS = linux/arm-smccc.h linux/bitfield.h linux/bits.h linux/cc_platform.h linux/compiler.h linux/cpumask.h linux/ctype.h linux/device.h linux/fs.h linux/hrtimer.h linux/io.h \
	linux/kernel.h linux/kref.h linux/log2.h linux/mm.h linux/mutex.h linux/rwsem.h linux/sched.h \
	linux/sizes.h linux/slab.h linux/spinlock.h linux/string.h linux/wait.h \
	linux/workqueue.h asm/cpufeature.h asm/msr.h asm/pgtable-hwdef.h asm/tsc.h
UNIT = $(wildcard tests/host/unit/*.c) \
	$(addprefix kernel/kloader/arch/x86/,aml.c bzimage.c elf.c cmdline.c) \
	kernel/kloader/arch/arm64/poison.c kernel/kloader/cmdline.c kernel/common/complaint.c kernel/spumone/guest_elf.c kernel/spumone/arch/x86/identity.c

.PHONY: check
check: ## unit tests of the modules' pure code in user space, with sanitizers
	mkdir -p $(addprefix $(BUILD)/unit/stub/,$(sort $(dir $(STUBS))))
	for h in $(STUBS); do echo '#include "stub.h"' > $(BUILD)/unit/stub/$$h; done
	$(CC) -g -O1 -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Werror \
		-fsanitize=address,undefined -fno-sanitize-recover \
		-include tests/host/unit/stub/stub.h -I$(BUILD)/unit/stub -Itests/host/unit/stub \
		-Itests/host/unit -Ikernel/include -Ikernel/kloader -Ikernel/kloader/arch/x86 -Ikernel/spumone \
		-o $(BUILD)/unit/check $(UNIT)
	$(BUILD)/unit/check

# The ring and the allocator, which compile in user space as they are.
IKC_FLAGS = -g -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Werror \
	-Ikernel/include/uapi -Ikernel/ikc
IKC_TESTS = $(wildcard tests/host/ikc/*.c tests/host/common/*.c) kernel/ikc/heap.c
MODEL = $(wildcard tests/host/model/*.c) kernel/ikc/heap.c

.PHONY: check-ikc check-model
check-ikc: ## unit tests, fuzzing and killing of IKC's ring and allocator, with sanitizers
	mkdir -p $(BUILD)/ikc
	$(CC) $(IKC_FLAGS) -O1 -fsanitize=address,undefined -fno-sanitize-recover \
		-pthread -Itests/host/common -Itests/host/ikc -o $(BUILD)/ikc/check $(IKC_TESTS)
	$(BUILD)/ikc/check

# Both ends of a virtqueue: the owner's, and the user's after the owner's death.
VRING_TESTS = $(wildcard tests/host/vring/*.c tests/host/common/*.c) kernel/backend/vqueue.c \
	kernel/virtio/recover.c

.PHONY: check-vring
check-vring: ## unit tests, fuzzing and deaths of the ends of virtqueues, with sanitizers
	mkdir -p $(BUILD)/vring
	$(CC) -g -O1 -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
		-Wno-missing-field-initializers -Wno-address-of-packed-member -Werror \
		-fsanitize=address,undefined -fno-sanitize-recover -pthread \
		-Ikernel/include -Ikernel/backend -Ikernel/virtio -Itests/host/common -Itests/host/vring \
		-o $(BUILD)/vring/check $(VRING_TESTS)
	$(BUILD)/vring/check

# The layer's logic, with a core around it that is made up.
LAYER_TESTS = $(wildcard tests/host/layer/*.c) tests/host/common/check.c \
	kernel/spumone/layer/timer.c kernel/spumone/layer/rt.c kernel/spumone/layer/budget.c \
	kernel/spumone/layer/late.c kernel/spumone/layer/guests.c kernel/spumone/layer/hosts.c \
	kernel/spumone/layer/tasks.c \
	kernel/spumone/layer/arch/x86/vectors.c kernel/spumone/layer/arch/x86/lapic.c \
	kernel/spumone/layer/arch/x86/exit.c kernel/spumone/layer/arch/x86/next.c

.PHONY: check-layer
check-layer: ## unit tests and fuzzers of SPUMONE's layer, with sanitizers
	mkdir -p $(BUILD)/layer
	$(CC) -g -O1 -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Werror \
		-fsanitize=address,undefined -fno-sanitize-recover -pthread \
		-Ikernel/include -Ikernel/spumone/layer -Itests/host/common -Itests/host/layer \
		-o $(BUILD)/layer/check $(LAYER_TESTS)
	$(BUILD)/layer/check

check-model: ## IKC's ring, allocator and shared words: all interleavings, in Arm's memory order
	mkdir -p $(BUILD)/model
	$(CC) $(IKC_FLAGS) -O2 -include tests/host/model/model.h -Itests/host/model \
		-o $(BUILD)/model/check $(MODEL)
	$(BUILD)/model/check

# release, or lab: see tool/Cargo.toml
PROFILE ?= release
# named, else cargo would link its own plugins statically; see tool/.cargo
RUST_TARGET = $(subst -linux,-unknown-linux-gnu,$(TRIPLE))

.PHONY: tool deb
tool: ## build the static command-line tool into OUT (OUT=…)
	@cargo --version | awk -F '[ .]' '{ exit $$2 == 1 && $$3 < 85 }' || { \
		echo "$$(cargo --version) is too old: the tool needs 1.85, which Debian 13 has; on Debian 12 run: lab/enter make $(MAKECMDGOALS)" >&2; exit 1; }
	mkdir -p $(OUT)
	cd tool && $(if $(CROSS_COMPILE),CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=x86_64-linux-gnu-gcc) \
		cargo build --profile $(PROFILE) --locked -p shimos --target $(RUST_TARGET)
	cp $${CARGO_TARGET_DIR:-tool/target}/$(RUST_TARGET)/$(PROFILE)/shimos $(OUT)/

deb: ## build the Debian packages into BUILD/deb (needs debhelper, dh-dkms, musl-tools, cargo; ARCH=arm64)
	$(MAKE) init tool OUT=$(BUILD)/dist
	rm -rf $(BUILD)/deb
	mkdir -p $(BUILD)/deb/shimos/build $(BUILD)/deb/shimos/tool
	cp -r kernel lib $(BUILD)/deb/shimos/
	cp -r tool/dist $(BUILD)/deb/shimos/tool/
	cp -r $(BUILD)/dist $(BUILD)/deb/shimos/build/
	# a tool that runs here writes the manual pages
	$(if $(CROSS_COMPILE),$(MAKE) tool ARCH=$(HERE) CROSS_COMPILE= OUT=$(BUILD)/here)
	cp $(BUILD)/$(if $(CROSS_COMPILE),here,dist)/shimos $(BUILD)/deb/shimos/build/shimos-here
	cp -r packaging/debian $(BUILD)/deb/shimos/
	cd $(BUILD)/deb/shimos && dpkg-buildpackage -b -us -uc $(if $(CROSS_COMPILE),-a$(ARCH))
	ls $(BUILD)/deb/*.deb

.PHONY: transcripts
transcripts: ## run what the documents' transcripts show, and put in what it prints (ONLY="README.md docs/realtime.md")
	lab/enter env SHIMOS_TOOL_PROFILE=release python3 -m lab.transcripts $(ONLY)

.PHONY: matrix
matrix: ## fill docs/matrix.md: each of Debian's kernels as host, with each as partition (KERNELS="6.12 7.3": only these)
	lab/enter python3 -m lab.matrix $(KERNELS)

.PHONY: lib examples
LIB_FLAGS = -std=gnu11 -O2 -g -Wall -Wextra -Werror -Ikernel/ikc -Ikernel/include/uapi -Ilib/c
lib: examples ## test the C library and build the examples into OUT (OUT=…)
	mkdir -p $(OUT)
	$(CC) $(LIB_FLAGS) -fsanitize=address,undefined -fno-sanitize-recover -pthread \
		-o $(OUT)/ikc_test lib/c/test/ikc_test.c
	$(OUT)/ikc_test

examples: ## build the examples into OUT (OUT=…)
	mkdir -p $(OUT)
	$(TARGET_CC) $(LIB_FLAGS) -static -o $(OUT)/ikc_hello examples/ikc_hello.c
	$(TARGET_CC) $(LIB_FLAGS) -Irt/programs -static -o $(OUT)/pendulum_panel examples/pendulum_panel.c
	$(TARGET_CC) $(LIB_FLAGS) -Irt/programs -static -o $(OUT)/pendulum_linux examples/pendulum_linux.c rt/programs/pendulum.c

.PHONY: test-modules test-programs
test-modules: modules ## build the modules that tests load, for KVER into OUT
	$(call copy,kernel/include,$(OUT)/tests/include)
	$(call copy,tests/modules,$(OUT)/tests/modules)
	$(KBUILD) M=$(abspath $(OUT))/tests/modules \
		KBUILD_EXTRA_SYMBOLS=$(abspath $(OUT))/tree/Module.symvers modules

test-programs: ## build the programs that tests run on the machine into OUT
	mkdir -p $(OUT)
	$(TARGET_CC) -static -O1 -Wall -Wextra -Wno-sign-compare -Werror -Ikernel/include \
		-o $(OUT)/ioctl_fuzz tests/programs/ioctl_fuzz.c
	$(TARGET_CC) -static -O1 -Wall -Wextra -Werror -Ikernel/include \
		-o $(OUT)/wait_event tests/programs/wait_event.c

# A makefile of its own: copies of the tree that build modules only have none.
.PHONY: rt rt-tests check-rt clippy-rt
rt: ## build what runs in real-time partitions into OUT/rt (OUT=…)
	$(MAKE) -f rt/Makefile rt OUT=$(OUT)

rt-tests: ## the same, and programs that only tests use
	$(MAKE) -f rt/Makefile tests OUT=$(OUT)

check-rt: ## unit tests of real-time programs with sanitizers, their images, and a run in a process
	$(MAKE) -f rt/Makefile check OUT=$(BUILD) BUILD=$(BUILD)

clippy-rt: ## clippy of real-time programs in Rust
	$(MAKE) -f rt/Makefile clippy OUT=$(BUILD) BUILD=$(BUILD)
