import AccessTable
import Foundation
import Testing

/// Every cell of `docs/access.md`, tried over HTTP.
@Suite(.timeLimit(.minutes(20))) struct AccessMatrixTests {
    @Test func `B-PRT-01, B-PRT-07, B-PRT-10, B-ACP-06, B-DB-12 access is as the table says`() async throws {
        let table = try AccessTable()
        #expect(table.cells.count >= 400)
        try await TestCloud.run { cloud in
            let people = try await AccessPeople(cloud)
            let cells = Array(table.cells.enumerated())
            await withTaskGroup(of: Void.self) { group in
                for lane in 0..<4 {
                    group.addTask {
                        for (number, cell) in cells where number % 4 == lane {
                            await check(cell, number, people)
                        }
                    }
                }
            }
        }
    }

    private func check(_ cell: AccessTable.Cell, _ number: Int, _ people: AccessPeople) async {
        do {
            let scene = try await AccessScene(people, role: cell.role, zone: "Z\(number)", of: cell)
            let word = try await scene.attempt(cell)
            #expect(word == cell.word, "\(cell.name)")
        } catch {
            Issue.record("\(cell.name): \(error)")
        }
    }
}

/// The users of the table, signed in.
struct AccessPeople: Sendable {
    let cloud: TestCloud
    private var tokens: [AccessTable.Role: TestCloud.Tokens] = [:]
    private var names: [AccessTable.Role: String] = [:]

    init(_ cloud: TestCloud) async throws {
        self.cloud = cloud
        for role in AccessTable.Role.allCases {
            if role == .signedOut {
                tokens[role] = try await cloud.apiToken()
                continue
            }
            let email = role.rawValue.replacingOccurrences(of: " ", with: "") + "@example.com"
            let signedIn = try await cloud.signIn(email: email)
            tokens[role] = signedIn
            let caller = try await cloud.client.get(TestCloud.target("users/caller", "public", signedIn))
            names[role] = caller["userRecordName"] as? String
        }
    }

    func name(_ role: AccessTable.Role) -> String { names[role] ?? "" }

    /// Sends a request as a user.
    func post(
        _ endpoint: String, _ database: String, as role: AccessTable.Role, _ body: [String: any Sendable]
    ) async throws -> RawClient.Answer {
        let json = String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self)
        return try await cloud.client.post(TestCloud.target(endpoint, database, tokens[role]), json)
    }
}

/// Ada's zone with its tree, and a user in a role.
struct AccessScene: Sendable {
    let people: AccessPeople
    let role: AccessTable.Role
    let zone: String
    private var guid = ""
    let publicName: String

    var zoneID: [String: any Sendable] { ["zoneName": zone, "ownerRecordName": people.name(.owner)] }

    init(
        _ people: AccessPeople, role: AccessTable.Role, zone: String, of cell: AccessTable.Cell
    ) async throws {
        self.people = people
        self.role = role
        self.zone = zone
        publicName = "P" + zone
        if cell.database == "public", ["record", "file", "subscription"].contains(cell.object) {
            let record: [String: any Sendable] = [
                "recordName": publicName, "recordType": "Leaflet", "fields": ["n": ["value": publicName]],
            ]
            _ = try await people.post(
                "records/modify", "public", as: .owner,
                ["operations": [["operationType": "create", "record": record]] as [[String: any Sendable]]])
            return
        }
        try await build()
    }

    private mutating func build() async throws {
        _ = try await people.post(
            "zones/modify", "private", as: .owner,
            [
                "operations": [["operationType": "create", "zone": ["zoneID": ["zoneName": zone]]]]
                    as [[String: any Sendable]]
            ])
        func record(_ name: String, parent: String? = nil) -> [String: any Sendable] {
            var record: [String: any Sendable] = [
                "recordName": name, "recordType": "Note", "fields": ["n": ["value": name]],
            ]
            if let parent { record["parent"] = ["recordName": parent] }
            return record
        }
        var share: [String: any Sendable] = [
            "recordName": "S", "recordType": "cloudkit.share", "forRecord": ["recordName": "Root"],
            "allowsAccessRequests": true, "publicPermission": role == .public ? "READ_ONLY" : "NONE",
        ]
        if let participant { share["participants"] = [participant] }
        let records = [record("Root"), record("In", parent: "Root"), record("Outside"), share]
        let answer = try await people.post(
            "records/modify", "private", as: .owner,
            [
                "operations": records.map { ["operationType": "create", "record": $0] as [String: any Sendable] },
                "zoneID": ["zoneName": zone],
            ])
        guard let guid = answer["records", "3", "shortGUID"] as? String else { throw SceneError.notBuilt(answer.body) }
        self.guid = guid
        switch role {
        case .administrator, .readWrite, .readOnly, .public, .removed:
            _ = try await people.post("records/accept", "public", as: role, ["shortGUIDs": [["value": guid]]])
        case .owner, .pending, .stranger, .signedOut: break
        }
        if role == .removed {
            let tag = try await tag(of: "S")
            let change: [String: any Sendable] = [
                "recordName": "S", "recordType": "cloudkit.share", "recordChangeTag": tag,
                "participants": [] as [[String: any Sendable]],
            ]
            _ = try await people.post(
                "records/modify", "private", as: .owner,
                [
                    "operations": [["operationType": "update", "record": change]] as [[String: any Sendable]],
                    "zoneID": ["zoneName": zone],
                ])
        }
    }

    private var participant: [String: any Sendable]? {
        let (type, permission): (String, String)
        switch role {
        case .administrator: (type, permission) = ("ADMINISTRATOR", "READ_WRITE")
        case .readWrite, .pending, .removed: (type, permission) = ("USER", "READ_WRITE")
        case .readOnly: (type, permission) = ("USER", "READ_ONLY")
        case .owner, .public, .stranger, .signedOut: return nil
        }
        return ["type": type, "permission": permission, "userIdentity": ["userRecordName": people.name(role)]]
    }

    private func tag(of record: String) async throws -> String {
        let answer = try await people.post(
            "records/lookup", "private", as: .owner,
            ["records": [["recordName": record]], "zoneID": ["zoneName": zone]])
        return answer["records", "0", "recordChangeTag"] as? String ?? "none"
    }

    private func exists(_ record: String) async throws -> Bool {
        try await tag(of: record) != "none"
    }

    enum SceneError: Error {
        case notBuilt(String)
        case unknownVerb(String)
        case unknownAnswer(String)
    }
}

// MARK: Trying

extension AccessScene {
    /// Does the request of a cell and returns the table's word for its outcome.
    func attempt(_ cell: AccessTable.Cell) async throws -> String {
        switch cell.object {
        case "zone": return try await attemptZone(cell)
        case "link": return try await attemptLink(cell)
        case "record": return try await attemptPublic(cell)
        case "file", "file outside": return try await attemptFile(cell)
        case "subscription": return try await attemptSubscription(cell)
        case "share" where cell.database == "public": return try await saveShareInPublic()
        default: break
        }
        let name = ["in tree": "In", "root": "Root", "outside": "Outside", "share": "S"][cell.object] ?? ""
        switch cell.verb {
        case "look up":
            return try word(
                of: try await post(
                    "records/lookup", cell, ["records": [["recordName": name]], "zoneID": zoneID]), "records")
        case "query": return try await query(name, cell)
        case "follow": return try await follow(name, cell)
        case "change": return try await modify(cell, "forceUpdate", record(name, ["fields": ["n": ["value": "x"]]]))
        case "rename":
            return try await modify(
                cell, "update",
                try await share(["fields": ["cloudkit.title": ["value": "T"] as [String: any Sendable]]]))
        case "open to all": return try await modify(cell, "update", try await share(["publicPermission": "READ_WRITE"]))
        case "create":
            let parent: [String: any Sendable] = cell.object == "outside" ? [:] : ["parent": ["recordName": "In"]]
            return try await modify(cell, "create", record("New", parent))
        case "move out": return try await modify(cell, "forceUpdate", record(name, ["parent": NSNullValue.null]))
        case "delete": return try await delete(name, cell)
        case "read keys":
            return try word(
                of: try await post("shares/keys/lookup", cell, ["zoneID": zoneID, "recordName": "S"]), nil)
        case "store keys":
            let keys: [String: any Sendable] = ["epoch": 1, "blob": "AAAA", "wraps": [] as [[String: any Sendable]]]
            // The first ones are the owner's.
            _ = try await people.post(
                "shares/keys/store", "private", as: .owner,
                ["zoneID": ["zoneName": zone], "recordName": "S", "shareKeys": keys])
            return try word(
                of: try await post(
                    "shares/keys/store", cell, ["zoneID": zoneID, "recordName": "S", "shareKeys": keys]), nil)
        case "begin keys": return try await beginKeys(cell)
        default: throw SceneError.unknownVerb(cell.verb)
        }
    }

    /// Begins the next epoch of the share's keys, after a user who had the first one was removed.
    private func beginKeys(_ cell: AccessTable.Cell) async throws -> String {
        let others = participant.map { [$0] } ?? []
        let gone: [String: any Sendable] = [
            "participantId": "gone", "permission": "READ_ONLY",
            "userIdentity": ["lookupInfo": ["emailAddress": "gone@example.com"]],
        ]
        func set(_ participants: [[String: any Sendable]]) async throws {
            let operation: [String: any Sendable] = [
                "operationType": "update", "record": try await share(["participants": participants]),
            ]
            _ = try await people.post(
                "records/modify", "private", as: .owner, ["operations": [operation], "zoneID": ["zoneName": zone]])
        }
        func keys(_ epoch: Int, for participant: String) -> [String: any Sendable] {
            let wraps = participant.isEmpty ? [] : [["participantId": participant, "wrap": "AAAA"]]
            return ["epoch": epoch, "blob": "AAAA", "wraps": wraps]
        }
        try await set(others + [gone])
        _ = try await people.post(
            "shares/keys/store", "private", as: .owner,
            ["zoneID": ["zoneName": zone], "recordName": "S", "shareKeys": keys(1, for: "gone")])
        try await set(others)
        let held = try await people.post(
            "records/lookup", "private", as: .owner,
            ["records": [["recordName": "S"]], "zoneID": ["zoneName": zone]])
        let owner = held["records", "0", "owner", "participantId"] as? String ?? ""
        let next = keys(2, for: role == .owner ? "" : owner)
        return try word(
            of: try await post("shares/keys/store", cell, ["zoneID": zoneID, "recordName": "S", "shareKeys": next]), nil
        )
    }

    private func record(_ name: String, _ more: [String: any Sendable]) -> [String: any Sendable] {
        ["recordName": name, "recordType": "Note"].merging(more) { $1 }
    }

    private func share(_ more: [String: any Sendable]) async throws -> [String: any Sendable] {
        ["recordName": "S", "recordType": "cloudkit.share", "recordChangeTag": try await tag(of: "S")]
            .merging(more) { $1 }
    }

    func post(
        _ endpoint: String, _ cell: AccessTable.Cell, _ body: [String: any Sendable]
    ) async throws -> RawClient.Answer {
        try await people.post(endpoint, cell.database, as: role, body)
    }

    private func modify(
        _ cell: AccessTable.Cell, _ verb: String, _ record: [String: any Sendable]
    ) async throws -> String {
        let operation: [String: any Sendable] = ["operationType": verb, "record": record]
        return try word(
            of: try await post("records/modify", cell, ["operations": [operation], "zoneID": zoneID]), "records")
    }

    private func delete(_ name: String, _ cell: AccessTable.Cell) async throws -> String {
        let word = try await modify(cell, "forceDelete", ["recordName": name])
        guard word == "yes", try await exists(name) else { return word }
        return try await isMember() ? "nothing" : "leave"
    }

    private func isMember() async throws -> Bool {
        let answer = try await people.post("zones/list", "shared", as: role, [:])
        return names(in: answer, "zones").contains(zone)
    }

    private func query(_ name: String, _ cell: AccessTable.Cell) async throws -> String {
        let filter: [String: any Sendable] = [
            "fieldName": "n", "comparator": "EQUALS", "fieldValue": ["value": name],
        ]
        let answer = try await post(
            "records/query", cell,
            ["zoneID": zoneID, "query": ["recordType": "Note", "filterBy": [filter]] as [String: any Sendable]])
        guard answer.status == 200 else { return try word(of: answer, nil) }
        return (answer["records"] as? [Any])?.isEmpty == false ? "yes" : "hide"
    }

    private func follow(_ name: String, _ cell: AccessTable.Cell) async throws -> String {
        let answer = try await post(
            "changes/zone", cell, ["zones": [["zoneID": zoneID] as [String: any Sendable]]])
        let word = try word(of: answer, "zones")
        guard word == "yes" else { return word }
        let records = answer["zones", "0", "records"] as? [[String: Any]] ?? []
        return records.contains { $0["recordName"] as? String == name } ? "yes" : "hide"
    }

    private func attemptZone(_ cell: AccessTable.Cell) async throws -> String {
        func modify(_ verb: String, _ id: [String: any Sendable]) async throws -> RawClient.Answer {
            let operation: [String: any Sendable] = ["operationType": verb, "zone": ["zoneID": id]]
            return try await post("zones/modify", cell, ["operations": [operation]])
        }
        switch cell.verb {
        case "look up": return try word(of: try await post("zones/lookup", cell, ["zones": [zoneID]]), "zones")
        case "list", "see change":
            let answer = try await post(cell.verb == "list" ? "zones/list" : "changes/database", cell, [:])
            guard answer.status == 200 else { return try word(of: answer, nil) }
            return names(in: answer, "zones").contains(zone) ? "yes" : "hide"
        case "create": return try word(of: try await modify("create", ["zoneName": "New" + zone]), "zones")
        case "delete":
            let word = try word(of: try await modify("delete", zoneID), "zones")
            guard word == "yes", cell.database == "shared" else { return word }
            let (stays, isMember) = (try await exists("In"), try await isMember())
            return stays && !isMember ? "leave" : word
        default: throw SceneError.unknownVerb(cell.verb)
        }
    }

    private func attemptLink(_ cell: AccessTable.Cell) async throws -> String {
        let endpoints = [
            "resolve": "records/resolve", "accept": "records/accept", "ask for access": "shares/requestAccess",
        ]
        guard let endpoint = endpoints[cell.verb] else { throw SceneError.unknownVerb(cell.verb) }
        if role == .signedOut {
            // The scene of a non-member is a private share.
            return try word(of: try await post(endpoint, cell, ["shortGUIDs": [["value": guid]]]), nil)
        }
        return try word(of: try await post(endpoint, cell, ["shortGUIDs": [["value": guid]]]), "results")
    }

    private func attemptPublic(_ cell: AccessTable.Cell) async throws -> String {
        let fields: [String: any Sendable] = ["fields": ["n": ["value": publicName]]]
        func save(_ verb: String, _ name: String) async throws -> String {
            let record = ["recordName": name, "recordType": "Leaflet"].merging(fields) { $1 }
            let operation: [String: any Sendable] = ["operationType": verb, "record": record]
            return try word(of: try await post("records/modify", cell, ["operations": [operation]]), "records")
        }
        switch cell.verb {
        case "look up":
            return try word(
                of: try await post("records/lookup", cell, ["records": [["recordName": publicName]]]), "records")
        case "query":
            let filter: [String: any Sendable] = [
                "fieldName": "n", "comparator": "EQUALS", "fieldValue": ["value": publicName],
            ]
            let answer = try await post(
                "records/query", cell,
                ["query": ["recordType": "Leaflet", "filterBy": [filter]] as [String: any Sendable]])
            return names(in: answer, "records").contains(publicName) ? "yes" : "hide"
        case "change": return try await save("forceUpdate", publicName)
        case "create": return try await save("create", "New" + publicName)
        case "delete":
            let operation: [String: any Sendable] = [
                "operationType": "forceDelete", "record": ["recordName": publicName],
            ]
            return try word(of: try await post("records/modify", cell, ["operations": [operation]]), "records")
        default: throw SceneError.unknownVerb(cell.verb)
        }
    }

    private func saveShareInPublic() async throws -> String {
        let share: [String: any Sendable] = [
            "recordName": "S" + zone, "recordType": "cloudkit.share", "forRecord": ["recordName": "R" + zone],
        ]
        let operation: [String: any Sendable] = ["operationType": "create", "record": share]
        return try word(
            of: try await people.post("records/modify", "public", as: role, ["operations": [operation]]), "records")
    }

    // MARK: Answers

    func names(in answer: RawClient.Answer, _ list: String) -> [String] {
        (answer[list] as? [[String: Any]] ?? []).compactMap { item in
            if item["deleted"] as? Bool == true { return nil }
            return item["recordName"] as? String ?? (item["zoneID"] as? [String: Any])?["zoneName"] as? String
        }
    }

    /// The table's word for an answer, or for the one item in its list.
    func word(of answer: RawClient.Answer, _ list: String?) throws -> String {
        var code = answer["serverErrorCode"] as? String
        if answer.status == 200, let list { code = answer[list, "0", "serverErrorCode"] as? String }
        switch code {
        case nil where answer.status == 200: return "yes"
        case "ACCESS_DENIED"?: return "deny"
        case "NOT_FOUND"?, "ZONE_NOT_FOUND"?: return "hide"
        case "BAD_REQUEST"?: return "bad"
        case "AUTHENTICATION_REQUIRED"?: return "sign in"
        default: throw SceneError.unknownAnswer(answer.body)
        }
    }
}

/// JSON's null among values that may cross tasks.
private enum NSNullValue {
    static var null: any Sendable { NSNull() }
}
