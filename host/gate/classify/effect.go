package classify

// Effect is what a call does, in rising order: Read, Write, External. Anything else counts as External.
type Effect string

// The effects that there are.
const (
	Read     Effect = "read"     // changes nothing
	Write    Effect = "write"    // may change something on this machine
	External Effect = "external" // may leave the machine
)

func (e Effect) rank() int {
	switch e {
	case Read:
		return 0
	case Write:
		return 1
	}
	return 2
}

// Less reports whether e does less than other.
func (e Effect) Less(other Effect) bool { return e.rank() < other.rank() }

// Max returns the greater of two effects.
func Max(a, b Effect) Effect {
	if a.Less(b) {
		return b
	}
	return a
}
