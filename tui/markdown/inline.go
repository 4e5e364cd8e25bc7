package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// look is what a stretch of text is shown as.
type look uint8

const (
	strong look = 1 << iota
	emphasis
	code
	codeBlock
	faint
)

// spans is text as it is shown, cut into stretches of one look.
type spans struct {
	text string
	runs []run
}

type run struct {
	end  int // in bytes of the text
	look look
}

// piece is a part of a text on its way to spans: flip is what it turns on or off, own is its alone.
type piece struct {
	text      string
	flip, own look
}

// inliner reads one paragraph from left to right. What it remembers of the left is bounded or a stack, so that its
// time is linear in the text.
type inliner struct {
	text     string
	plain    bool // markers stay
	from     int  // what is before this is in pieces
	pieces   []piece
	open     [4]int // the piece, counted from 1, of the last open run of one, two or three stars
	brackets []int  // the pieces of the open brackets; -1 for one that starts no link
}

// inline reads the marks within a paragraph.
func (r renderer) inline(text string, base look) spans {
	if !strings.ContainsAny(text, "*`[") {
		return spans{text, []run{{len(text), base}}}
	}
	p := inliner{text: text, plain: r.st.Plain}
	p.read()
	var s spans
	var b strings.Builder
	now := base
	for _, c := range p.pieces {
		now ^= c.flip
		b.WriteString(c.text)
		if n := len(s.runs); n > 0 && s.runs[n-1].look == now|c.own {
			s.runs[n-1].end = b.Len()
			continue
		}
		s.runs = append(s.runs, run{b.Len(), now | c.own})
	}
	s.text = b.String()
	return s
}

func (p *inliner) read() {
	ticks := closingTicks(p.text)
	for i := 0; i < len(p.text); {
		n := 1
		switch p.text[i] {
		case '`':
			n = repeated(p.text[i:])
			if end, ok := ticks[i]; ok && (i == 0 || p.text[i-1] != '\\') {
				p.code(i, n, end)
				n = end + n - i
			}
		case '*':
			n = repeated(p.text[i:])
			p.stars(i, n)
		case '[':
			p.bracket(i)
		case ']':
			n = p.link(i)
		case '\n':
			p.brackets = p.brackets[:0]
		}
		i += n
	}
	p.take(len(p.text))
}

// take makes a piece of what was passed up to a place.
func (p *inliner) take(to int) {
	if to > p.from {
		p.pieces = append(p.pieces, piece{text: p.text[p.from:to]})
	}
	p.from = to
}

func (p *inliner) code(i, n, end int) {
	p.take(i)
	text := p.text[i+n : end]
	if p.plain {
		text = p.text[i : end+n]
	}
	p.pieces = append(p.pieces, piece{text: text, own: code})
	p.from = end + n
}

// stars opens or closes emphasis. It is stricter than markdown is: what could be a product, a pointer or a glob
// stays as it is.
func (p *inliner) stars(i, n int) {
	if n > 3 {
		return
	}
	before, _ := utf8.DecodeLastRuneInString(p.text[:i])
	after, _ := utf8.DecodeRuneInString(p.text[i+n:])
	first, last := i == 0, i+n == len(p.text)
	look := [...]look{1: emphasis, 2: strong, 3: strong | emphasis}[n]
	closes := !first && !unicode.IsSpace(before) && !strings.ContainsRune(`,([{*/\`, before) &&
		(last || unicode.IsSpace(after) || wide(after) || strings.ContainsRune(`.,;:!?)]}"'”’…—–-`, after))
	opens := !last && (first || unicode.IsSpace(before) || wide(before) || strings.ContainsRune(`([{"'“‘—–-:|`, before)) &&
		(unicode.IsLetter(after) || unicode.IsDigit(after) || strings.ContainsRune("`\"'([“‘‹$#@<", after) ||
			n > 1 && strings.ContainsRune("-_./", after))
	switch {
	case closes && p.open[n] > 0:
		at := p.open[n]
		for k, o := range p.open {
			if o >= at {
				p.open[k] = 0 // emphasis is nested, it does not cross
			}
		}
		p.mark(i, n, look)
		p.pieces[at-1].flip = look
		if !p.plain {
			p.pieces[at-1].text = ""
		}
	case opens:
		p.mark(i, n, 0)
		p.open[n] = len(p.pieces)
	}
}

// mark makes a piece of a run of stars.
func (p *inliner) mark(i, n int, flip look) {
	p.take(i)
	c := piece{text: p.text[i : i+n], flip: flip}
	if flip != 0 && !p.plain {
		c.text = ""
	}
	p.pieces = append(p.pieces, c)
	p.from = i + n
}

func (p *inliner) bracket(i int) {
	before, _ := utf8.DecodeLastRuneInString(p.text[:i])
	if i > 0 && before < wideFrom && (unicode.IsLetter(before) || unicode.IsDigit(before) || strings.ContainsRune("_)]", before)) {
		p.brackets = append(p.brackets, -1) // an index, not a link
		return
	}
	if i > p.from && p.text[i-1] == '!' {
		p.take(i - 1) // an image
	} else {
		p.take(i)
	}
	p.pieces = append(p.pieces, piece{text: p.text[p.from : i+1]})
	p.from = i + 1
	p.brackets = append(p.brackets, len(p.pieces)-1)
}

// link ends a bracket, and writes the target of a link beside its text. It returns the length of what it read.
func (p *inliner) link(i int) int {
	if len(p.brackets) == 0 {
		return 1
	}
	at := p.brackets[len(p.brackets)-1]
	p.brackets = p.brackets[:len(p.brackets)-1]
	target := linkTarget(p.text[i+1:])
	if at < 0 || target == "" {
		return 1
	}
	p.take(i)
	p.pieces[at].text = ""
	p.pieces = append(p.pieces, piece{text: " " + target})
	p.from = i + 1 + len(target)
	return p.from - i
}

// maxTarget bounds how far the end of a link's target is looked for.
const maxTarget = 2048

// linkTarget returns the target that a text starts with, in its parentheses; or nothing if that is no target.
func linkTarget(s string) string {
	if s == "" || s[0] != '(' {
		return ""
	}
	depth, spaced := 0, false
	for i := range min(len(s), maxTarget) {
		switch s[i] {
		case '\n':
			return ""
		case ' ':
			if !spaced && !strings.HasPrefix(s[i+1:], `"`) {
				return ""
			}
			spaced = true // a title
		case '(':
			depth++
		case ')':
			if depth--; depth > 0 {
				continue
			}
			if !strings.ContainsAny(s[1:i], ":/.#@") {
				return ""
			}
			return s[:i+1]
		}
	}
	return ""
}

// closingTicks finds for every run of backticks the next one of the same length in its line.
func closingTicks(s string) map[int]int {
	if strings.IndexByte(s, '`') < 0 {
		return nil
	}
	closing, next := map[int]int{}, map[int]int{}
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case '\n':
			clear(next)
		case '`':
			end := i + 1
			for i > 0 && s[i-1] == '`' {
				i--
			}
			if to, ok := next[end-i]; ok {
				closing[i] = to
			}
			next[end-i] = i
		}
	}
	return closing
}

// repeated is how often a text starts with its first byte.
func repeated(s string) int {
	return len(s) - len(strings.TrimLeft(s, s[:1]))
}

// wideFrom is where scripts start that put no spaces between words.
const wideFrom = 0x2E80

func wide(r rune) bool { return r >= wideFrom && r != utf8.RuneError }
