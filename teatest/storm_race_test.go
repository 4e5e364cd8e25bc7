//go:build race

package teatest

// stormChecks is fewer storms, because the race detector makes each five times as slow.
const stormChecks = "3"
