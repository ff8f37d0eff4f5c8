package serve

import (
	"os"
	"runtime"

	"github.com/rs/zerolog"
)

// warnOpenDirectory says that others than the hub's user may read its log: everything that was said
// is in it.
func warnOpenDirectory(log zerolog.Logger, dir string) {
	info, err := os.Stat(dir)
	if dir == "" || err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0 {
		return
	}
	log.Warn().Str("directory", dir).Stringer("mode",
		info.Mode()).Msg("others may look into the directory of the log: chmod 700 is safer")
}
