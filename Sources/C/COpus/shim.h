#pragma once
#include <opus/opus.h>

// Variadic functions, which Swift cannot import.
static inline int otchat_opus_encoder_set(OpusEncoder *e, int request, int value) { return opus_encoder_ctl(e, request, (opus_int32)value); }
static inline int otchat_opus_decoder_get(OpusDecoder *d, int request, int *value) { opus_int32 v = 0; int r = opus_decoder_ctl(d, request, &v); *value = v; return r; }
static inline int otchat_opus_encoder_reset(OpusEncoder *e) { return opus_encoder_ctl(e, OPUS_RESET_STATE); }
static inline int otchat_opus_decoder_reset(OpusDecoder *d) { return opus_decoder_ctl(d, OPUS_RESET_STATE); }
