package trace

import (
	"encoding/json"
	"fmt"

	"example.com/kitsoki/host"
)

// Decode makes a typed event of a record. It returns nil without an error for events that it does not know,
// such as those of a later version.
func (r Record) Decode() (host.Event, error) {
	switch r.Event {
	case SessionOpened{}.Name():
		return decodeAs[SessionOpened](r)
	case SessionClosed{}.Name():
		return decodeAs[SessionClosed](r)
	case AccessChanged{}.Name():
		return decodeAs[AccessChanged](r)
	case TurnStarted{}.Name():
		return decodeAs[TurnStarted](r)
	case TurnEnded{}.Name():
		return decodeAs[TurnEnded](r)
	case AgentStarted{}.Name():
		return decodeAs[AgentStarted](r)
	case AgentEnded{}.Name():
		return decodeAs[AgentEnded](r)
	case AgentTool{}.Name():
		return decodeAs[AgentTool](r)
	case AskNormalised{}.Name():
		return decodeAs[AskNormalised](r)
	case AskRecalled{}.Name():
		return decodeAs[AskRecalled](r)
	case AskRefused{}.Name():
		return decodeAs[AskRefused](r)
	case Repaired{}.Name():
		return decodeAs[Repaired](r)
	case Gap{}.Name():
		return decodeAs[Gap](r)
	case host.WriteModeGranted{}.Name():
		return decodeAs[host.WriteModeGranted](r)
	case host.QuestionAsked{}.Name():
		return decodeAs[host.QuestionAsked](r)
	case host.QuestionAnswered{}.Name():
		return decodeAs[host.QuestionAnswered](r)
	case host.QuestionUnanswered{}.Name():
		return decodeAs[host.QuestionUnanswered](r)
	case host.QuestionDelivered{}.Name():
		return decodeAs[host.QuestionDelivered](r)
	case host.QuestionTooLate{}.Name():
		return decodeAs[host.QuestionTooLate](r)
	}
	return nil, nil
}

func decodeAs[E host.Event](r Record) (host.Event, error) {
	var e E
	if err := json.Unmarshal(r.Data, &e); err != nil {
		return nil, fmt.Errorf("event %s: %w", r.Event, err)
	}
	return e, nil
}
