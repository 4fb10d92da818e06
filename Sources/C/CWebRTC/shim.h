// The library's headers are C++; CAudioProcessing is what Swift sees of it. This target brings its flags.
#pragma once
