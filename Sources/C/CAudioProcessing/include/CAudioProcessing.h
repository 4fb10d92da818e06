// webrtc-audio-processing, a C++ library, as far as a call needs it: echo cancellation, noise suppression, gain
// control, high-pass filter, on 10 ms of 48 kHz sound at a time. One thread at a time.
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct otchat_audio_processing otchat_audio_processing;

/// NULL if it cannot be had.
otchat_audio_processing *otchat_audio_processing_new(void);
void otchat_audio_processing_free(otchat_audio_processing *processing);
/// What the loudspeaker is given: 480 frames of two channels, interleaved.
void otchat_audio_processing_played(otchat_audio_processing *processing, const int16_t *samples);
/// What the microphone gave, 480 samples, cleaned in place.
/// `delay`: ms from `played` until the same sound could come back in `captured`, without the way through the air.
void otchat_audio_processing_captured(otchat_audio_processing *processing, int16_t *samples, int delay);

#ifdef __cplusplus
}
#endif
