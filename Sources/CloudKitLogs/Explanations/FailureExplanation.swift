import CloudKitModel

/// What the page of a request says about one of its failures: the rule behind it, its meaning, and the line of the schema that it is about.
package struct FailureExplanation: Hashable, Sendable {
    /// The id of the rule in docs/rules.
    package var rule: String
    /// The meaning of the code in one sentence.
    package var meaning: String
    /// The remedy: the failure's own, or that of its code.
    package var remedy: String
    /// The line of the schema; nil where the failure is not about a type that the schema has.
    package var schemaLine: SchemaLine?

    /// Explains a failure.
    ///
    /// - Parameter schema: The schema of the container's environment as text; nil where it is not known.
    package init(_ failure: LogFailure, schema: String? = nil) {
        let known = RequestFailure.Code(rawValue: failure.code).map { Self.text(of: $0) }
        rule = known?.rule ?? "B-ERR-11"
        meaning = known?.meaning ?? "An error that this version does not know."
        remedy = failure.remedy ?? known?.remedy ?? "Look up the request in the cloud's log of lines."
        schemaLine = schema.flatMap { SchemaLine(of: failure, in: $0) }
    }

    private typealias Text = (rule: String, meaning: String, remedy: String)

    private static func text(of code: RequestFailure.Code) -> Text {
        switch code {
        case .accessDenied:
            (
                "B-ERR-05", "The role of the user does not allow this.",
                "Grant the role in the schema, or act as its creator."
            )
        case .systemFieldWrite: ("B-ERR-05", "System fields are written by the cloud alone.", "Leave the field out.")
        case .accountRestricted, .managedAccountRestricted:
            ("B-ACC-08", "The account may not use this service.", "Ask the administrator of the account.")
        case .accountTemporarilyUnavailable:
            (
                "B-ERR-19", "The account has to be confirmed on the device.",
                "Keep what is cached and wait for CKAccountChanged."
            )
        case .assetNotAvailable: ("B-ERR-19", "The file of an asset is not there.", "Upload the file again and save.")
        case .alreadyShared: ("B-ERR-19", "The record is in a share already.", "Use the share that the record has.")
        case .atomicFailure:
            ("B-ERR-13", "Another item of the atomic batch failed.", "Mend the other item and send the batch again.")
        case .authenticationFailed, .authenticationRequired:
            ("B-ERR-04", "The credentials of the request are missing, wrong or over.", "Sign in again.")
        case .badContainer, .unknownAPIToken:
            (
                "B-DB-14", "The container or the API token is unknown.",
                "Make a token with welkin token create for this container and environment."
            )
        case .badDatabase: ("B-ERR-09", "The database does not allow this.", "Use another database.")
        case .badRequest, .methodNotAllowed: ("B-ERR-09", "The request is malformed.", "Correct what the reason names.")
        case .changeTokenExpired:
            ("B-ERR-12", "The change token is too old.", "Fetch all changes from the beginning, without a token.")
        case .conflict, .recordExists:
            (
                "B-ERR-10", "The record was changed since it was fetched.",
                "Merge into the server's record and save that one."
            )
        case .indexMissing:
            (
                "B-ERR-08", "The query needs an index that the schema does not have.",
                "Add the index in development and deploy the schema."
            )
        case .internalError: ("B-ERR-11", "The cloud failed.", "Look up the request in the cloud's log of lines.")
        case .itemLimitExceeded, .sizeLimitExceeded:
            ("B-ERR-17", "The request is beyond a limit.", "Send the halves one after the other.")
        case .itemNotFound: ("B-ERR-06", "The item does not exist.", "Fetch before changing, or create it.")
        case .typeNotFound:
            (
                "B-ERR-06", "The schema has no such record type.",
                "Save a record of the type in development, or import the schema."
            )
        case .endpointNotFound: ("B-ERR-20", "There is no such endpoint.", "Correct the path.")
        case .participantAlreadyInvited, .participantMayNeedVerification:
            ("B-ERR-19", "The invitation cannot be accepted so.", "Look at the participants of the share.")
        case .quotaExceeded:
            ("B-THR-01", "The user's private database is full.", "Delete records, or raise welkin serve --quota-bytes.")
        case .schemaMismatch:
            (
                "B-ERR-07", "The record does not fit the schema.",
                "In development, save or import what is missing; for production deploy the schema."
            )
        case .serverRejected: ("B-ERR-11", "The cloud refuses this permanently.", "Do not repeat the request.")
        case .staleShareKeyEpoch, .staleKeyEpoch, .staleRecordStatement:
            (
                "B-ERR-14", "Keys have changed since the record was sealed.",
                "Clients fetch the keys and seal again by themselves."
            )
        case .changedSinceSave:
            (
                "B-THR-07", "A repeated save had taken effect before, and the record was changed since.",
                "Clients take the record that the answer carries."
            )
        case .serverUnavailable:
            ("B-THR-07", "The cloud's store was away.", "Clients repeat the request by themselves.")
        case .throttled, .tryAgainLater:
            ("B-THR-02", "The cloud asks for a pause.", "Repeat after the time in Retry-After.")
        case .tooManyParticipants: ("B-ERR-17", "The share has too many participants.", "Remove participants.")
        case .referenceViolation:
            ("B-ERR-19", "A reference does not allow this.", "Save the target first, or delete what refers to it.")
        case .zoneBusy: ("B-THR-04", "Others write to the zone.", "Repeat after a growing pause.")
        case .zoneNotFound: ("B-ERR-16", "The zone does not exist.", "Create the zone, then save again.")
        case .zoneKeysReset:
            (
                "B-ZN-12", "The keys of the zone's encrypted data were lost.",
                "Delete the zone and upload its data again."
            )
        case .zonePurged: ("B-ERR-18", "The user removed the zone's data.", "Do not upload it again without asking.")
        }
    }
}
