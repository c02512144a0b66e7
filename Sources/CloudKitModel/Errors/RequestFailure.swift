/// The refusal of a request, or of one item of it: a code to act on, a fixed reason, and a remedy.
///
/// Neither reason nor details hold secrets or field values.
package struct RequestFailure: Error, Hashable, Sendable {
    /// The code to act on.
    package var code: Code
    /// A fixed sentence; texts that apps compare are those of docs/web-services.md and docs/rules/ERR.md.
    package var reason: String
    /// One sentence with the caller's remedy; nil where the reason suffices.
    package var remedy: String?
    /// Seconds after which a retry makes sense.
    package var retryAfter: Double?
    /// The record as the server holds it, for a conflict (B-SAV-07).
    package var serverRecord: Box<Record>?
    /// With `changeTokenExpired` of a cloud that was restored: the time of the state that it went back to, in milliseconds since 1970; 0 if
    /// that is not known. What was saved later is lost there.
    package var restoredTo: Int64?
    /// With `staleRecordStatement` for a record that is created again: the version of the deleted one.
    package var lastVersion: UInt64?
    /// The identifier of the request that was refused, by which the operator finds it in the log; nil where it is not known. Failures
    /// of different requests are equal.
    package var requestID: String?

    /// Creates a failure.
    package init(
        _ code: Code, _ reason: String, remedy: String? = nil, retryAfter: Double? = nil, serverRecord: Record? = nil
    ) {
        self.code = code
        self.reason = reason
        self.remedy = remedy
        self.retryAfter = retryAfter
        self.serverRecord = serverRecord.map(Box.init)
    }

    /// Returns a Boolean value that indicates whether two failures say the same, whichever requests they refused.
    package static func == (left: RequestFailure, right: RequestFailure) -> Bool {
        left.code == right.code && left.reason == right.reason && left.remedy == right.remedy
            && left.retryAfter == right.retryAfter && left.serverRecord == right.serverRecord
            && left.restoredTo == right.restoredTo && left.lastVersion == right.lastVersion
    }

    /// Hashes what two equal failures have in common.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(reason)
    }

    /// A code exists only if someone would act on it differently.
    package enum Code: String, Hashable, Sendable, CaseIterable {
        case accessDenied
        case systemFieldWrite
        case accountRestricted
        case accountTemporarilyUnavailable
        /// The file of an asset is not there, or no longer: upload it again.
        case assetNotAvailable
        case alreadyShared
        case atomicFailure
        case authenticationFailed
        case authenticationRequired
        case badContainer
        case badDatabase
        case badRequest
        case changeTokenExpired
        case conflict
        case recordExists
        case indexMissing
        case internalError
        /// The administration of a managed account excludes it from the service (B-ACC-08).
        case managedAccountRestricted
        case itemLimitExceeded
        case sizeLimitExceeded
        case itemNotFound
        case endpointNotFound
        case methodNotAllowed
        case participantAlreadyInvited
        case participantMayNeedVerification
        case quotaExceeded
        case schemaMismatch
        case serverRejected
        /// A share's keys have another epoch than the caller believed.
        case staleShareKeyEpoch
        case throttled
        case tooManyParticipants
        case tryAgainLater
        case typeNotFound
        /// The app's API token is unknown, or of another container or environment (B-DB-14): no user can mend that.
        case unknownAPIToken
        case referenceViolation
        case zoneBusy
        case zoneNotFound
        case zonePurged
        case zoneKeysReset
        /// Sealed under a key whose time is over, or not all of a record under its new one: learn and seal again.
        case staleKeyEpoch
        /// A record's statement does not follow the one that the cloud holds: fetch the record and state it again.
        case staleRecordStatement
        /// The cloud, or its store, is away for a while, as during a failover: the same request is answered later.
        case serverUnavailable
        /// The save took effect when the request was sent before, and others have changed the record since: the failure carries it.
        case changedSinceSave
    }

    /// Holds a value by reference, so that a failure stays small.
    package final class Box<Value: Hashable & Sendable>: Hashable, Sendable {
        /// The value.
        package let value: Value

        /// Holds a value.
        package init(_ value: Value) { self.value = value }

        /// Returns a Boolean value that indicates whether two values are equal.
        package static func == (left: Box, right: Box) -> Bool { left.value == right.value }
        /// Hashes the contents into the given hasher.
        package func hash(into hasher: inout Hasher) { hasher.combine(value) }
    }
}

extension RequestFailure.Code {
    /// `CKError.Code` and the server's sub-code of it (docs/rules/ERR.md).
    package var native: (code: Int, subcode: Int?) {
        switch self {
        case .accessDenied, .systemFieldWrite: (10, 2007)
        case .accountRestricted, .managedAccountRestricted: (32, nil)
        case .accountTemporarilyUnavailable: (36, nil)
        case .assetNotAvailable: (35, nil)
        case .alreadyShared: (30, nil)
        case .atomicFailure: (22, 2024)
        case .authenticationFailed, .authenticationRequired: (9, nil)
        case .badContainer, .unknownAPIToken: (5, nil)
        case .badDatabase: (24, nil)
        case .badRequest, .methodNotAllowed: (12, nil)
        case .changeTokenExpired: (21, 2026)
        case .conflict, .recordExists, .changedSinceSave: (14, 2004)
        case .indexMissing: (12, 2015)
        case .internalError: (15, 2000)
        case .itemLimitExceeded: (27, 1020)
        case .sizeLimitExceeded: (27, 2023)
        case .itemNotFound, .typeNotFound: (11, 2003)
        case .endpointNotFound: (15, nil)
        case .participantAlreadyInvited: (37, nil)
        case .participantMayNeedVerification: (33, nil)
        case .serverRejected: (15, nil)
        case .staleShareKeyEpoch: (14, nil)
        case .tooManyParticipants: (29, nil)
        case .quotaExceeded: (25, 2035)
        case .schemaMismatch: (12, 2006)
        // The client's own gate makes 7 (B-THR-03); a server that throttles is 6 (B-THR-02).
        case .throttled, .tryAgainLater, .serverUnavailable: (6, nil)
        case .referenceViolation: (31, nil)
        case .zoneBusy, .staleKeyEpoch, .staleRecordStatement: (23, nil)
        case .zoneNotFound, .zoneKeysReset: (26, 2036)
        case .zonePurged: (28, nil)
        }
    }
}
