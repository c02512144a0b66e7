import CloudKitModel
import JSONBytes

extension Array where Element == ShareInvitationRequest {
    /// Reads the body of `records/resolve`, `records/accept` and `shares/requestAccess` (docs/web-services.md §10.2).
    ///
    /// A GUID may come as `{"value": …}` or as a bare text; a whole link is cut down to its GUID.
    ///
    /// - Throws: `badRequest`; `itemLimitExceeded`, `sizeLimitExceeded` beyond `limits`.
    package init(wire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) {
        self = try WireBody.requestList("shortGUIDs", bytes, limits: limits) {
            try ShareInvitationRequest(reading: &$0)
        }
    }

    /// Returns the body in the form of web services.
    package func wire() -> [UInt8] {
        WireBody.list("shortGUIDs", self) { $0.write(to: &$1) }
    }
}

extension ShareInvitationRequest {
    fileprivate init(reading reader: inout JSONReader) throws {
        self.init(shortGUID: "")
        if try reader.peekKind() == .string {
            shortGUID = Self.shortGUID(of: try reader.string())
            return
        }
        try reader.object { reader, key in
            if try reader.readNull() { return }
            switch key {
            case "value": shortGUID = Self.shortGUID(of: try reader.string())
            case "shouldFetchRootRecord": shouldFetchRootRecord = try reader.bool()
            case "rootRecordDesiredKeys": rootRecordDesiredKeys = try reader.stringsIfAny()
            case "linkProof": linkProof = try reader.base64IfAny()
            default: try reader.skipValue()
            }
        }
    }

    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.pair("value", shortGUID)
        if shouldFetchRootRecord { writer.pair("shouldFetchRootRecord", true) }
        writer.pair("rootRecordDesiredKeys", rootRecordDesiredKeys)
        writer.pair("linkProof", base64: linkProof)
        writer.endObject()
    }

    /// The short GUID of a text that is one, or that is a link with one at the end of its path.
    package static func shortGUID(of text: String) -> String {
        let path = text.prefix { $0 != "#" && $0 != "?" }
        return String(path.split(separator: "/").last ?? "")
    }
}

extension Array where Element == ShareInvitationOutcome {
    /// Prints the answer of `records/resolve` and `records/accept`, items in the order of the request.
    package func wireAnswer(style: WireStyle, answering requests: [ShareInvitationRequest]) -> [UInt8] {
        WireBody.list("results", zip(requests, self), capacity: 1024) { item, writer in
            let (request, outcome) = item
            writer.beginObject()
            writer.key("shortGUID")
            request.write(to: &writer)
            switch outcome {
            case .invitation(let invitation): invitation.writeKeys(to: &writer, style: style)
            case .failed(let failure):
                failure.writeKeys(to: &writer, style: style)
                writer.pair("uuid", style.requestUUID)
            }
            writer.endObject()
        }
    }

    /// Reads the answer of `records/resolve` or `records/accept`.
    ///
    /// - Throws: `internalError` if it cannot be read.
    package init(wireAnswer bytes: [UInt8]) throws(RequestFailure) {
        self = try WireBody.answerList("results", bytes) { try ShareInvitationOutcome(reading: &$0) }
    }
}

extension ShareInvitation {
    fileprivate func writeKeys(to writer: inout JSONWriter, style: WireStyle) {
        writer.pair("containerIdentifier", container.name)
        writer.pair("environment", environment.rawValue)
        writer.key("databaseScope")
        writer.word(scope == .private ? "PRIVATE" : "SHARED")
        writer.key("zoneID")
        writer.zoneID(zoneID, style: style)
        var printer = RecordPrinter(style: style)
        writer.key("share")
        printer.write(share, to: &writer)
        writer.pair("rootRecordName", rootRecordName)
        if let rootRecord {
            writer.key("rootRecord")
            printer.write(rootRecord, to: &writer)
        }
        writer.key("participantType")
        writer.word(role.wireName)
        writer.key("participantStatus")
        writer.word(acceptance.wireName)
        writer.key("participantPermission")
        writer.word(permission.wireName)
        writer.key("ownerIdentity")
        owner.write(to: &writer, style: style)
    }
}

extension ShareInvitationOutcome {
    fileprivate init(reading reader: inout JSONReader) throws {
        var container: String?
        var environment = Environment.development
        var scope = DatabaseScope.shared
        var zoneID: ZoneID?
        var share: Record?
        var root: (name: String?, record: Record?)
        var role = ParticipantRole.unknown
        var permission = ParticipantPermission.unknown
        var acceptance = ParticipantAcceptance.unknown
        var owner = PersonIdentity()
        var error = ErrorKeys()
        try reader.object { reader, key in
            if try reader.readNull() { return }
            switch key {
            case "containerIdentifier": container = try reader.string()
            case "environment": environment = Environment(rawValue: try reader.string().lowercased()) ?? environment
            case "databaseScope": scope = DatabaseScope(word: try reader.string().lowercased()) ?? scope
            case "zoneID": zoneID = try ZoneID(reading: &reader)
            case "share": share = try Record(reading: &reader, zoneID: zoneID)
            case "rootRecordName": root.name = try reader.string()
            case "rootRecord": root.record = try Record(reading: &reader, zoneID: zoneID)
            case "participantType": role = ParticipantRole(word: try reader.string()) ?? .unknown
            case "participantStatus": acceptance = ParticipantAcceptance(word: try reader.string()) ?? .unknown
            case "participantPermission": permission = ParticipantPermission(word: try reader.string()) ?? .unknown
            case "ownerIdentity": owner = try PersonIdentity(reading: &reader)
            default: if try !error.read(key, &reader, zoneID: zoneID) { try reader.skipValue() }
            }
        }
        if let failure = error.failure {
            self = .failed(failure)
            return
        }
        guard let container, let share else { throw RequestFailure.unreadableAnswer }
        self = .invitation(
            ShareInvitation(
                container: ContainerID(container), environment: environment, scope: scope, share: share,
                rootRecordName: root.name, rootRecord: root.record, role: role, permission: permission,
                acceptance: acceptance, owner: owner))
    }
}

extension Array where Element == RequestFailure? {
    /// Prints the answer of `shares/requestAccess`: `{results: [{shortGUID} | {shortGUID, serverErrorCode, …}]}`.
    package func wireAnswer(style: WireStyle, answering requests: [ShareInvitationRequest]) -> [UInt8] {
        WireBody.list("results", zip(requests, self)) { item, writer in
            let (request, failure) = item
            writer.beginObject()
            writer.key("shortGUID")
            request.write(to: &writer)
            if let failure {
                failure.writeKeys(to: &writer, style: style)
                writer.pair("uuid", style.requestUUID)
            }
            writer.endObject()
        }
    }

    /// Reads the answer of `shares/requestAccess`.
    ///
    /// - Throws: `internalError` if it cannot be read.
    package init(wireAnswer bytes: [UInt8]) throws(RequestFailure) {
        self = try WireBody.answerList("results", bytes) { reader in
            var error = ErrorKeys()
            try reader.object { reader, key in
                if try !error.read(key, &reader, zoneID: nil) { try reader.skipValue() }
            }
            return error.failure
        }
    }
}
