package classify

import (
	"context"
	"strings"
	"testing"
	"time"
)

// mixer builds commands out of the corpora: whole ones, their words, and what stands between words.
type mixer struct {
	commands, words, joints []string
	reads                   int                 // commands that come first and only read
	flags                   map[string][]string // of the programs on the list, with values
}

func newMixer(tb testing.TB) *mixer {
	m := &mixer{flags: map[string][]string{}, joints: []string{
		" ", "\n", ";", " & ", " && ", " || ", " | ", " |& ", " > ", " >> ", " 2> ", " < ", " <> ", " >& ", "\t", "=", "\\", "\\\n", "'", `"`, "$", "`", "$(", ")", "(",
		"{", "}", "~", "*", "#", "!", " -", " --", "-", ",", "^", "@", "\r", "\u00a0", "\x00", "$'", " -o ", " -o", " --output=", " P", " -exec ", " -i ", " -w ",
	}}
	for _, file := range []string{"testdata/reads.txt", "testdata/mutating.txt"} {
		for _, e := range corpus(tb, file) {
			m.commands = append(m.commands, e.command)
			m.words = append(m.words, strings.Fields(e.command)...)
		}
		if m.reads == 0 {
			m.reads = len(m.commands)
		}
	}
	for _, list := range [][]program{readers(), gitReaders()} {
		for _, p := range list {
			m.words = append(m.words, p.name)
			for _, f := range strings.Fields(p.flags) {
				name, _, _ := strings.Cut(strings.Replace(f, "[", "", 1), "=")
				m.words = append(m.words, name)
				first, _, _ := strings.Cut(p.name, " ")
				m.flags[first] = append(m.flags[first], name, name+" 1", name+" P", name+"=P", name+"P")
			}
		}
	}
	return m
}

// mix changes a command step by step as the bytes of a recipe say, three at a time.
func (m *mixer) mix(command string, recipe []byte) string {
	for ; len(recipe) >= 3 && len(command) < 4096; recipe = recipe[3:] {
		pick := int(recipe[1])<<8 | int(recipe[2])
		fields := strings.Split(command, " ")
		at := pick % len(fields)
		// Half of the time what is added comes from what reads, so that enough is run.
		from := m.commands
		if recipe[0] >= 128 {
			from = m.commands[:m.reads]
		}
		switch recipe[0] % 10 {
		case 0:
			command += m.joints[pick%len(m.joints)] + from[(pick*7+int(recipe[0]))%len(from)]
		case 1:
			command = from[(pick*7+int(recipe[0]))%len(from)] + m.joints[pick%len(m.joints)] + command
		case 2:
			command += " " + m.words[(pick*31+int(recipe[0]))%len(m.words)]
		case 3:
			fields[at] = m.words[(pick*31+int(recipe[0]))%len(m.words)]
			command = strings.Join(fields, " ")
		case 4:
			fields[at] += " " + m.words[(pick*31+int(recipe[0]))%len(m.words)]
			command = strings.Join(fields, " ")
		case 5:
			fields[at] += m.joints[(pick/7)%len(m.joints)]
			command = strings.Join(fields, " ")
		case 6:
			fields[at] = `"` + fields[at] + `"`
			command = strings.Join(fields, " ")
		case 7, 8:
			if list := m.flags[fields[0]]; len(list) > 0 {
				fields[at] += " " + list[(pick*31+int(recipe[0]))%len(list)]
				command = strings.Join(fields, " ")
			}
		case 9:
			command = strings.Join(append(fields[:at:at], fields[at+1:]...), " ")
		}
	}
	return command
}

// traps spring where a command starts a program of the directory, or takes the name of a file for a flag.
const traps = `
	mkdir -p ~/.config/go/telemetry; echo off > ~/.config/go/telemetry/mode
	names='ls cat git head grep sort find sh bash sed wc gpg less more pager diff'
	for dir in . 1 2 3 P src bin; do
		mkdir -p $dir
		for name in $names; do
			printf '#!/bin/sh\n: > ~/sprung\n' > $dir/$name
		done
		(cd $dir; chmod +x $names)
	done
	for name in -o --output=P -exec -delete -i P.go; do : > "./$name"; done
	echo '* diff=t filter=t' > .gitattributes
	printf '[user]\n\tname = B\n' >> .git/config`

// What passes unasked is run, and must change nothing. Where the tests run as root it runs as nobody; in any case in a
// directory of its own, with an empty environment, for two seconds.
func FuzzClassify(f *testing.F) {
	m := newMixer(f)
	for _, c := range m.commands {
		f.Add(c, []byte{})
	}
	for i := range 64 {
		f.Add(m.commands[i], []byte{byte(i), byte(i * 3), byte(i * 5), byte(i * 7), byte(i * 11), byte(i * 13)})
	}
	tp := newTemplate(f)
	s := tp.sandbox(f)
	out, err := s.run(f.Context(), traps)
	if err != nil {
		f.Fatalf("the traps could not be set: %v\n%s", err, out)
	}
	hardened := Environment(func(string) string { return "" })
	before := s.hash(f)
	f.Fuzz(func(t *testing.T, command string, recipe []byte) {
		command = m.mix(command, recipe[:min(len(recipe), 24)])
		v := s.judge(t, command)
		if v.Effect != Read && v.Effect != Write && v.Effect != External {
			t.Fatalf("%q is %q", command, v.Effect)
		}
		if strings.HasPrefix(v.Reason, "could not be judged") {
			t.Fatalf("%q: %s", command, v.Reason)
		}
		if !v.Free() {
			return
		}
		var env []string
		if v.Hardened {
			env = hardened
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		out, err := s.run(ctx, command, env...)
		if after := s.hash(t); after != before {
			before = after // the next ones are judged by themselves
			t.Fatalf("passes unasked, and changed something: %q (%v)\n%s", command, err, out)
		}
	})
}
