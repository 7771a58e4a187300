package amqp

// Condition is the symbol that names why a connection, session, link or delivery ended. These constants are the only
// place where the symbols are spelled.
type Condition string

// amqp-error (§2.8.15).
const (
	CondInternalError         Condition = "amqp:internal-error"
	CondNotFound              Condition = "amqp:not-found"
	CondUnauthorizedAccess    Condition = "amqp:unauthorized-access"
	CondDecodeError           Condition = "amqp:decode-error"
	CondResourceLimitExceeded Condition = "amqp:resource-limit-exceeded"
	CondNotAllowed            Condition = "amqp:not-allowed"
	CondInvalidField          Condition = "amqp:invalid-field"
	CondNotImplemented        Condition = "amqp:not-implemented"
	CondResourceLocked        Condition = "amqp:resource-locked"
	CondPreconditionFailed    Condition = "amqp:precondition-failed"
	CondResourceDeleted       Condition = "amqp:resource-deleted"
	CondIllegalState          Condition = "amqp:illegal-state"
	CondFrameSizeTooSmall     Condition = "amqp:frame-size-too-small"
)

// connection-error (§2.8.16).
const (
	CondConnectionForced   Condition = "amqp:connection:forced"
	CondFramingError       Condition = "amqp:connection:framing-error"
	CondConnectionRedirect Condition = "amqp:connection:redirect"
)

// session-error (§2.8.17).
const (
	CondWindowViolation  Condition = "amqp:session:window-violation"
	CondErrantLink       Condition = "amqp:session:errant-link"
	CondHandleInUse      Condition = "amqp:session:handle-in-use"
	CondUnattachedHandle Condition = "amqp:session:unattached-handle"
)

// link-error (§2.8.18).
const (
	CondDetachForced          Condition = "amqp:link:detach-forced"
	CondTransferLimitExceeded Condition = "amqp:link:transfer-limit-exceeded"
	CondMessageSizeExceeded   Condition = "amqp:link:message-size-exceeded"
	CondLinkRedirect          Condition = "amqp:link:redirect"
	CondStolen                Condition = "amqp:link:stolen"
)

// transaction-error (§4.5.8).
const (
	CondTransactionUnknownID Condition = "amqp:transaction:unknown-id"
	CondTransactionRollback  Condition = "amqp:transaction:rollback"
	CondTransactionTimeout   Condition = "amqp:transaction:timeout"
)
