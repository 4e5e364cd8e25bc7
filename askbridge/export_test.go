package askbridge

import "time"

// Bounds are bounds with names that tests can set; zero stands for the default.
type Bounds struct{ First, Write, Deliver, Grace time.Duration }

func (b Bounds) over() bounds {
	out := defaultBounds()
	for _, f := range []struct {
		to *time.Duration
		v  time.Duration
	}{{&out.first, b.First}, {&out.write, b.Write}, {&out.deliver, b.Deliver}, {&out.grace, b.Grace}} {
		if f.v > 0 {
			*f.to = f.v
		}
	}
	return out
}

// WithBounds returns options with other bounds.
func (o ListenOptions) WithBounds(b Bounds) ListenOptions {
	o.bounds = b.over()
	return o
}

// SetBounds sets the bounds of a client.
func (c *Client) SetBounds(b Bounds) { c.bounds = b.over() }

// Token returns the token of a dispatch.
func (d *Dir) Token() string { return d.token }
