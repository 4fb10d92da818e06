#pragma once
#include <vpx/vp8cx.h>
#include <vpx/vp8dx.h>
#include <vpx/vpx_decoder.h>
#include <vpx/vpx_encoder.h>

// A macro over other macros, which Swift cannot import.
enum { OTCHAT_VPX_ENCODER_ABI_VERSION = VPX_ENCODER_ABI_VERSION };
