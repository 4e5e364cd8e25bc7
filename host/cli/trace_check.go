package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"example.com/kitsoki/host/trace"
)

// checked is one line of trace --check --json.
type checked struct {
	ID   string `json:"session_id"`
	Path string `json:"path"`
	trace.Report
}

// checkAll checks traces and fails when something is wrong with one.
func (f *traceFlags) checkAll(out io.Writer, all []trace.Stored) error {
	broken := 0
	for _, s := range all {
		report, err := checkFile(s.Path)
		if err != nil {
			return &exitError{code: exitFailed, err: fmt.Errorf("%s", shown(err.Error()))}
		}
		if len(report.Violations) > 0 {
			broken++
		}
		if f.json {
			err = printJSON(out, checked{ID: s.ID, Path: s.Path, Report: report})
		} else {
			err = printReport(out, s, report)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case broken == 0:
		return nil
	case f.json:
		return &exitError{code: exitFailed, err: errQuiet}
	case len(all) == 1:
		return &exitError{code: exitFailed, err: errors.New("the trace is broken")}
	}
	return &exitError{code: exitFailed, err: fmt.Errorf("%d of %d traces are broken", broken, len(all))}
}

func checkFile(path string) (trace.Report, error) {
	live := trace.Live(path) // before reading: a writer that ends meanwhile leaves more, not less
	file, err := os.Open(path)
	if err != nil {
		return trace.Report{}, err
	}
	defer func() { _ = file.Close() }()
	return trace.Check(file, live), nil
}

func printReport(out io.Writer, s trace.Stored, r trace.Report) error {
	verdict := "holds"
	if n := len(r.Violations); n > 0 {
		verdict = fmt.Sprintf("%d wrong", n)
	}
	line := fmt.Sprintf("%s  %s  %s, %d events", shown(s.ID), verdict, r.State, r.Events)
	if r.Lost > 0 {
		line += fmt.Sprintf(", %d could not be written", r.Lost)
	}
	if r.Torn > 0 {
		line += fmt.Sprintf(", the last line is torn (%d bytes)", r.Torn)
	}
	if _, err := fmt.Fprintln(out, line); err != nil {
		return err
	}
	for _, v := range r.Violations {
		at := fmt.Sprintf("record %d", v.Seq)
		if v.Seq == 0 {
			at = "file"
		}
		if _, err := fmt.Fprintf(out, "  %s: %s\n", at, v.Sentence); err != nil {
			return err
		}
	}
	return nil
}
