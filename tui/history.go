package tui

// history is the prompts that were sent in a session, for going back to one. What is changed on the way stays
// changed until a prompt is sent, so that going back and forth loses nothing.
type history struct {
	sent  []string
	lines []string // while going through them: those that were sent, and last the draft that was there
	at    int
}

// maxHistory bounds what is kept.
const maxHistory = 500

// add notes a prompt that was sent. When it is one from earlier, what was being typed before comes back: left is that
// draft. Earlier prompts that were changed on the way are noted as well.
func (h *history) add(prompt string) (left string) {
	lines, at := h.lines, h.at
	h.lines = nil
	if lines != nil && at < len(lines)-1 {
		left = lines[len(lines)-1]
	}
	for i, line := range lines {
		if i != at && i < len(h.sent) && line != h.sent[i] {
			h.note(line)
		}
	}
	h.note(prompt)
	return left
}

func (h *history) note(prompt string) {
	if n := len(h.sent); n > 0 && h.sent[n-1] == prompt {
		return
	}
	h.sent = append(h.sent, prompt)
	if len(h.sent) > maxHistory {
		h.sent = h.sent[len(h.sent)-maxHistory:]
	}
}

// move goes n prompts towards the newer ones from where the text stands, and returns what stands there.
func (h *history) move(n int, text string) (string, bool) {
	if h.lines == nil {
		h.lines = append(append([]string{}, h.sent...), text)
		h.at = len(h.lines) - 1
	}
	to := h.at + n
	if to < 0 || to >= len(h.lines) {
		return "", false
	}
	h.lines[h.at] = text
	h.at = to
	return h.lines[to], true
}
