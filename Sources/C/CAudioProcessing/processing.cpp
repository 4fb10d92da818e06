#include "CAudioProcessing.h"
#include <algorithm>
#include <memory>
#include <new>
#include <webrtc/modules/audio_processing/include/audio_processing.h>

using namespace webrtc;

static const int rate = 48000, frames = 480;

struct otchat_audio_processing {
  std::unique_ptr<AudioProcessing> apm;
};

otchat_audio_processing *otchat_audio_processing_new() {
  Config config;
  // The delay that we know is a guess; it finds the true one, and follows up to 0.5 s.
  config.Set<DelayAgnostic>(new DelayAgnostic(true));
  config.Set<ExtendedFilter>(new ExtendedFilter(true));
  std::unique_ptr<AudioProcessing> apm(AudioProcessing::Create(config));
  if (!apm) return nullptr;
  apm->high_pass_filter()->Enable(true);
  apm->echo_cancellation()->enable_drift_compensation(false);
  apm->echo_cancellation()->set_suppression_level(EchoCancellation::kHighSuppression);
  apm->echo_cancellation()->Enable(true);
  apm->noise_suppression()->set_level(NoiseSuppression::kModerate);
  apm->noise_suppression()->Enable(true);
  apm->gain_control()->set_mode(GainControl::kAdaptiveDigital);
  apm->gain_control()->enable_limiter(true);
  apm->gain_control()->Enable(true);
  return new (std::nothrow) otchat_audio_processing{std::move(apm)};
}

void otchat_audio_processing_free(otchat_audio_processing *processing) { delete processing; }

void otchat_audio_processing_played(otchat_audio_processing *processing, const int16_t *samples) {
  float sound[frames];
  for (int i = 0; i < frames; i++) sound[i] = (samples[2 * i] + samples[2 * i + 1]) / 65536.0f;
  float *const channels[] = {sound};
  const StreamConfig mono(rate, 1);
  processing->apm->ProcessReverseStream(channels, mono, mono, channels);
}

void otchat_audio_processing_captured(otchat_audio_processing *processing, int16_t *samples, int delay) {
  float sound[frames];
  for (int i = 0; i < frames; i++) sound[i] = samples[i] / 32768.0f;
  float *const channels[] = {sound};
  const StreamConfig mono(rate, 1);
  processing->apm->set_stream_delay_ms(std::max(0, std::min(delay, 500)));
  if (processing->apm->ProcessStream(channels, mono, mono, channels) != AudioProcessing::kNoError) return;
  for (int i = 0; i < frames; i++)
    samples[i] = static_cast<int16_t>(std::max(-32768.0f, std::min(32767.0f, sound[i] * 32768.0f)));
}
