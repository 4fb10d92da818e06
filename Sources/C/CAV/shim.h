#pragma once
#include <libavcodec/avcodec.h>
#include <libavdevice/avdevice.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>

// Macros, which Swift cannot import.
enum {
  OTCHAT_AVERROR_EOF = AVERROR_EOF,
  OTCHAT_AVERROR_EAGAIN = AVERROR(EAGAIN),
  OTCHAT_AVERROR_DECODER_NOT_FOUND = AVERROR_DECODER_NOT_FOUND
};
static const int64_t OTCHAT_AV_NOPTS_VALUE = AV_NOPTS_VALUE;
static inline void otchat_av_channel_layout_default(AVChannelLayout *l, int channels) { av_channel_layout_default(l, channels); }
