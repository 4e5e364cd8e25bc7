package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"example.com/kitsoki/askbridge"
)

// Diff is what changed in a directory since the last commit. Its texts are safe for display.
type Diff struct {
	Files     []FileStat
	Text      string // unified; tabs are spaces
	Truncated bool   // there is more than is shown here
}

// FileStat is one file that changed. A directory that is a repository of its own ends with a slash.
type FileStat struct {
	Path           string // from the directory that was asked about
	Added, Deleted int    // lines; 0 where they were not counted
	New            bool   // not in the last commit
	Binary         bool
}

// What a diff holds at most.
const (
	diffText  = 256 << 10 // bytes
	diffFiles = 500
	diffLine  = 2000    // runes of one line
	newText   = 8 << 10 // bytes of a file that git does not know, to be shown whole
)

// WorkingDiff compares dir, and only what is in it, with the last commit; files that git neither knows nor ignores
// are named, and small texts of them shown. It runs nothing that the repository names, changes nothing, and takes
// about three seconds at the longest; what it found by then comes with ErrGitSlow. ErrNoRepository: there is none.
func WorkingDiff(ctx context.Context, dir string) (Diff, error) {
	ctx, cancel := context.WithTimeout(ctx, gitLook)
	defer cancel()
	g := repository{dir: dir}
	var d Diff
	if _, err := os.Stat(dir); err != nil {
		return d, fmt.Errorf("the directory %s cannot be looked at: %w", askbridge.Safe(dir), errors.Unwrap(err))
	}
	if err := g.guard(ctx, true); err != nil {
		return d, err
	}
	base, err := g.line(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if silent(err) { // no commit yet: everything is new
		base, err = g.line(ctx, "hash-object", "-t", "tree", "--stdin")
	}
	if err != nil {
		return d, err
	}
	out, more, err := g.run(ctx, gitAnswer, diffArgs(base, "--raw", "--numstat", "-z")...)
	d.Files = parseStat(out)
	d.Truncated = more || len(d.Files) > diffFiles
	d.Files = d.Files[:min(len(d.Files), diffFiles)]
	if err != nil {
		return d, err
	}
	names, more, err := g.run(ctx, gitAnswer, "ls-files", "--others", "--exclude-standard", "-z")
	d.Truncated = d.Truncated || more
	if err != nil {
		return d, err
	}
	text, more, err := g.run(ctx, diffText, diffArgs(base, "--patch")...)
	if more {
		d.Truncated = true
		text = text[:bytes.LastIndexByte(text, '\n')+1]
	}
	d.add(text, dir, complete(names))
	return d, err
}

// diffArgs are those of a diff that depends on the files alone: every setting that would change how it looks, or
// have another program make it, is overruled. Git must not note down in the index which files were only touched:
// the agent's own git would find the index locked.
func diffArgs(base string, what ...string) []string {
	args := append([]string{"-c", "diff.autoRefreshIndex=false", "diff"}, what...)
	return append(args, "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules=dirty",
		"--submodule=short", "--relative", "--unified=3", "--src-prefix=a/", "--dst-prefix=b/", base, "--", ".")
}

// parseStat reads raw lines and counts of lines: ":modes hashes status" path, and "added deleted path", each with a
// NUL at its end. A file that was only touched is left out.
func parseStat(out []byte) []FileStat {
	var files []FileStat
	at := map[string]int{}
	touched := map[string]bool{} // so far
	fields := complete(out)
	for i := 0; i < len(fields); i++ {
		if raw, ok := strings.CutPrefix(fields[i], ":"); ok && i+1 < len(fields) {
			i++
			if _, twice := at[fields[i]]; !twice { // a file with conflicts is named twice
				at[fields[i]] = len(files)
				files = append(files, FileStat{Path: askbridge.Safe(fields[i]), New: strings.HasSuffix(raw, " A")})
				touched[files[len(files)-1].Path] = sameMode(raw)
			}
			continue
		}
		counts := strings.SplitN(fields[i], "\t", 3)
		if len(counts) != 3 {
			continue
		}
		if n, ok := at[counts[2]]; ok {
			f := &files[n]
			f.Added, _ = strconv.Atoi(counts[0])
			f.Deleted, _ = strconv.Atoi(counts[1])
			f.Binary = counts[0] == "-"
		}
	}
	return slices.DeleteFunc(files, func(f FileStat) bool {
		return touched[f.Path] && f.Added == 0 && f.Deleted == 0 && !f.Binary
	})
}

// sameMode reports whether a raw line says of a file that was there before no more than that it may be another.
func sameMode(raw string) bool {
	f := strings.Fields(raw)
	return len(f) == 5 && f[4] == "M" && f[0] == f[1]
}

// complete returns the fields that have their NUL; what was cut off has none.
func complete(out []byte) []string {
	fields := strings.Split(string(out), "\x00")
	return fields[:len(fields)-1]
}

// add puts the diff of known files and the names and texts of new ones together, within the bounds.
func (d *Diff) add(known []byte, dir string, names []string) {
	text := &diffBuilder{}
	text.write(string(known))
	root, err := os.OpenRoot(dir)
	if err == nil {
		defer func() { _ = root.Close() }() // nothing was written
	}
	for _, name := range names {
		if len(d.Files) == diffFiles {
			d.Truncated = true
			break
		}
		f := FileStat{Path: askbridge.Safe(name), New: true}
		if content, ok := smallText(root, name); ok && !text.over {
			f.Added = text.writeNew(f.Path, content)
		}
		d.Files = append(d.Files, f)
	}
	d.Text = text.String()
	d.Truncated = d.Truncated || text.over
}

// smallText reads a file that is a text and not large. It does not follow links, out of dir or at all, and does not
// wait for anything that is no file.
func smallText(root *os.Root, name string) (string, bool) {
	if root == nil || strings.HasSuffix(name, "/") {
		return "", false
	}
	named, err := root.Lstat(name)
	if err != nil || !named.Mode().IsRegular() || named.Size() > newText {
		return "", false
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return "", false
	}
	defer func() { _ = f.Close() }() // nothing was written
	if info, err := f.Stat(); err != nil || !os.SameFile(info, named) {
		return "", false
	}
	content, err := io.ReadAll(io.LimitReader(f, newText+1))
	if err != nil || len(content) > newText || bytes.IndexByte(content, 0) >= 0 || !utf8.Valid(content) {
		return "", false
	}
	return string(content), true
}

// diffBuilder gathers whole lines, made safe, up to the bound.
type diffBuilder struct {
	strings.Builder
	over bool
}

func (b *diffBuilder) write(text string) {
	for line := range strings.Lines(text) {
		line = cutRunes(strings.TrimSuffix(line, "\n"), diffLine)
		line = askbridge.Safe(strings.ReplaceAll(line, "\t", "    "))
		b.line(line)
	}
}

// writeNew writes a file that git does not know as git would write a new one, and returns how many lines it has.
func (b *diffBuilder) writeNew(safePath, content string) int {
	n := strings.Count(content, "\n")
	if content != "" && !strings.HasSuffix(content, "\n") {
		n++
	}
	b.line(fmt.Sprintf("diff --git a/%[1]s b/%[1]s", safePath))
	b.line("new file, not added to git yet")
	if n > 0 {
		b.line(fmt.Sprintf("@@ -0,0 +1,%d @@", n))
	}
	for line := range strings.Lines(content) {
		b.write("+" + line)
	}
	return n
}

// line writes a line that is safe already.
func (b *diffBuilder) line(safe string) {
	if b.over || b.Len()+len(safe)+1 > diffText {
		b.over = true
		return
	}
	b.WriteString(safe + "\n")
}
