import CloudKitModel

/// The error codes of web services: these fourteen, because clients do not survive others (docs/web-services.md §5.1).
package enum WireErrorCode: String, Hashable, Sendable, CaseIterable {
    case accessDenied = "ACCESS_DENIED"
    case atomicError = "ATOMIC_ERROR"
    case authenticationFailed = "AUTHENTICATION_FAILED"
    case authenticationRequired = "AUTHENTICATION_REQUIRED"
    case badRequest = "BAD_REQUEST"
    case conflict = "CONFLICT"
    case exists = "EXISTS"
    case internalError = "INTERNAL_ERROR"
    case notFound = "NOT_FOUND"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case throttled = "THROTTLED"
    case tryAgainLater = "TRY_AGAIN_LATER"
    case validatingReferenceError = "VALIDATING_REFERENCE_ERROR"
    case zoneNotFound = "ZONE_NOT_FOUND"

    /// The word for a failure.
    package init(_ code: RequestFailure.Code) {
        switch code {
        case .accessDenied, .systemFieldWrite, .accountRestricted, .managedAccountRestricted,
            .participantMayNeedVerification,
            .participantAlreadyInvited:
            self = .accessDenied
        case .atomicFailure: self = .atomicError
        case .authenticationFailed, .accountTemporarilyUnavailable, .unknownAPIToken: self = .authenticationFailed
        case .authenticationRequired: self = .authenticationRequired
        case .badContainer, .badDatabase, .badRequest, .changeTokenExpired, .indexMissing, .itemLimitExceeded,
            .sizeLimitExceeded, .methodNotAllowed, .schemaMismatch, .serverRejected, .alreadyShared,
            .tooManyParticipants:
            self = .badRequest
        case .conflict, .recordExists, .staleShareKeyEpoch, .changedSinceSave: self = .conflict
        case .internalError: self = .internalError
        case .itemNotFound, .endpointNotFound, .typeNotFound, .assetNotAvailable: self = .notFound
        case .quotaExceeded: self = .quotaExceeded
        case .throttled: self = .throttled
        case .tryAgainLater, .serverUnavailable, .zoneBusy, .staleKeyEpoch, .staleRecordStatement:
            self = .tryAgainLater
        case .referenceViolation: self = .validatingReferenceError
        case .zoneNotFound, .zonePurged, .zoneKeysReset: self = .zoneNotFound
        }
    }

    /// The HTTP status of a whole-request error (B-ERR-20).
    package var httpStatus: Int {
        switch self {
        case .accessDenied: 403
        case .atomicError, .badRequest: 400
        case .authenticationFailed: 401
        case .authenticationRequired: 421
        case .conflict, .exists: 409
        case .internalError: 500
        case .notFound, .zoneNotFound: 404
        case .quotaExceeded: 413
        case .throttled: 429
        case .tryAgainLater: 503
        case .validatingReferenceError: 412
        }
    }

    /// The likeliest failure of a code, where an answer has no more.
    var likelyCode: RequestFailure.Code {
        switch self {
        case .accessDenied: .accessDenied
        case .atomicError: .atomicFailure
        case .authenticationFailed: .authenticationFailed
        case .authenticationRequired: .authenticationRequired
        case .badRequest: .badRequest
        case .conflict: .conflict
        case .exists: .recordExists
        case .internalError: .internalError
        case .notFound: .itemNotFound
        case .quotaExceeded: .quotaExceeded
        case .throttled: .throttled
        case .tryAgainLater: .tryAgainLater
        case .validatingReferenceError: .referenceViolation
        case .zoneNotFound: .zoneNotFound
        }
    }
}

extension RequestFailure.Code {
    /// The HTTP status of a whole-request error with this code.
    package var httpStatus: Int { self == .methodNotAllowed ? 405 : WireErrorCode(self).httpStatus }

    /// The code that an answer means: by its own name, else by the native numbers that agree with the word, else by the
    /// word and the reasons that are known of it.
    init(word: String?, name: String?, native: Int?, subcode: Int?, reason: String) {
        if let name, let code = Self(rawValue: name) {
            self = code
            return
        }
        let known = word.flatMap(WireErrorCode.init(rawValue:))
        guard let native else {
            self = known.map { Self.known(reason, of: $0) ?? $0.likelyCode } ?? Self(foreignWord: word)
            return
        }
        let candidates = Self.allCases.filter { $0.native.code == native && $0.native.subcode == subcode }
        self =
            candidates.first { known == nil || WireErrorCode($0) == known } ?? candidates.first
            ?? known?.likelyCode ?? .internalError
    }

    /// The code for words that other servers are said to send (docs/web-services.md §5.1) and ours never does.
    private init(foreignWord word: String?) {
        switch word {
        case "ZONE_BUSY": self = .zoneBusy
        case "CHANGE_TOKEN_EXPIRED": self = .changeTokenExpired
        default: self = .internalError
        }
    }

    /// Returns the code of an HTTP status, where the body is not an error object.
    init(httpStatus: Int) {
        let known = WireErrorCode.allCases.first { $0.httpStatus == httpStatus }
        switch httpStatus {
        case 400: self = .badRequest
        case 403: self = .accessDenied
        case 404: self = .endpointNotFound
        case 405: self = .methodNotAllowed
        case 408: self = .tryAgainLater
        // A proxy that finds no server, or loses it.
        case 502, 503, 504: self = .serverUnavailable
        default: self = known?.likelyCode ?? .internalError
        }
    }
}
