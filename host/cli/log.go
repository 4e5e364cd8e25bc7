package cli

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/charmbracelet/log"
)

// openLog makes the logger that writes to a file of the operator's choice. Without a path there is none.
func openLog(path string) (logger *slog.Logger, closeLog func(), err error) {
	if path == "" {
		return nil, func() {}, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("--log: %w", err)
	}
	handler := log.NewWithOptions(f, log.Options{ReportTimestamp: true, TimeFormat: "15:04:05.000", Formatter: log.LogfmtFormatter})
	return slog.New(handler), func() { _ = f.Close() }, nil
}
