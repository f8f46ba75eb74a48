/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Inter-kernel communication: what lies in the area that all kernels share, and
 * the ioctl interface of /dev/ikc.
 *
 * The area consists of chunks of IKC_CHUNK_SIZE bytes.  A place in it is named
 * by its offset: chunk number * IKC_CHUNK_SIZE + byte; no kernel's pointers are
 * inside.  Each field has one writer, which the headers below name.  docs/ikc.md
 * explains the protocol.
 */
#ifndef _UAPI_SHIMOS_IKC_H
#define _UAPI_SHIMOS_IKC_H

#include "shimos_ikc_area.h"
#include "shimos_ikc_bell.h"
#include "shimos_ikc_chunk.h"
#include "shimos_ikc_device.h"
#include "shimos_ikc_echo.h"
#include "shimos_ikc_limits.h"
#include "shimos_ikc_packet.h"
#include "shimos_ikc_ring.h"

#endif
