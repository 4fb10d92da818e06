#pragma once
#include <errno.h>
#include <linux/videodev2.h>
#include <stdint.h>
#include <sys/ioctl.h>

// ioctl(2) is variadic and its requests are macros over sizes, neither of which Swift can import.
#define OTCHAT_V4L2(name, request, type) \
  static inline int otchat_v4l2_##name(int fd, type *value) { \
    int status; \
    do status = ioctl(fd, request, value); \
    while (status == -1 && errno == EINTR); \
    return status; \
  }
OTCHAT_V4L2(querycap, VIDIOC_QUERYCAP, struct v4l2_capability)
OTCHAT_V4L2(enum_fmt, VIDIOC_ENUM_FMT, struct v4l2_fmtdesc)
OTCHAT_V4L2(enum_framesizes, VIDIOC_ENUM_FRAMESIZES, struct v4l2_frmsizeenum)
OTCHAT_V4L2(enum_frameintervals, VIDIOC_ENUM_FRAMEINTERVALS, struct v4l2_frmivalenum)
OTCHAT_V4L2(s_fmt, VIDIOC_S_FMT, struct v4l2_format)
OTCHAT_V4L2(s_parm, VIDIOC_S_PARM, struct v4l2_streamparm)
OTCHAT_V4L2(reqbufs, VIDIOC_REQBUFS, struct v4l2_requestbuffers)
OTCHAT_V4L2(querybuf, VIDIOC_QUERYBUF, struct v4l2_buffer)
OTCHAT_V4L2(qbuf, VIDIOC_QBUF, struct v4l2_buffer)
OTCHAT_V4L2(dqbuf, VIDIOC_DQBUF, struct v4l2_buffer)
OTCHAT_V4L2(streamon, VIDIOC_STREAMON, int)
OTCHAT_V4L2(streamoff, VIDIOC_STREAMOFF, int)
#undef OTCHAT_V4L2

enum {
  OTCHAT_V4L2_CAP_VIDEO_CAPTURE = V4L2_CAP_VIDEO_CAPTURE,
  OTCHAT_V4L2_CAP_STREAMING = V4L2_CAP_STREAMING,
  OTCHAT_V4L2_CAP_TIMEPERFRAME = V4L2_CAP_TIMEPERFRAME,
  OTCHAT_V4L2_TIMESTAMP_MASK = V4L2_BUF_FLAG_TIMESTAMP_MASK,
  OTCHAT_V4L2_TIMESTAMP_MONOTONIC = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC,
  OTCHAT_V4L2_BUF_FLAG_ERROR = V4L2_BUF_FLAG_ERROR
};
/// The driver says by itself which bits of `capabilities` belong to the node that is open.
static const uint32_t OTCHAT_V4L2_CAP_DEVICE_CAPS = V4L2_CAP_DEVICE_CAPS;
