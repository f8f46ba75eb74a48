# SPDX-License-Identifier: GPL-2.0
# Building by hand; ./demo and ./test do all of it by themselves.
KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build
OUT ?= build/$(KVER)
SPARSE ?= 0

.PHONY: help modules
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

modules: ## build the kernel modules for KVER into OUT (KVER=…, OUT=…)
	mkdir -p $(OUT)/tree
	cp -a kernel/. $(OUT)/tree/
	$(MAKE) -C $(KDIR) M=$(abspath $(OUT))/tree C=$(SPARSE) modules
	cp $(OUT)/tree/*/shimos_*.ko $(OUT)/

.PHONY: init
init: ## build the partitions' first program into OUT (OUT=…)
	mkdir -p $(OUT)
	musl-gcc -static -Os -s -Wall -Wextra -Wno-unused-result -Werror \
		-o $(OUT)/init kernel/init/init.c
