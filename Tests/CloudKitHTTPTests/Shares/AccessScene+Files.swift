import AccessTable

/// The cells about files of records.
extension AccessScene {
    private static let content = "the bytes of a file"

    func attemptFile(_ cell: AccessTable.Cell) async throws -> String {
        let name = cell.database == "public" ? publicName : cell.object == "file" ? "In" : "Outside"
        if cell.verb == "add" { return try await addFile(to: name, in: cell.database, as: role) }
        let made = try await addFile(to: name, in: cell.database == "public" ? "public" : "private", as: .owner)
        guard made == "yes" else { throw SceneError.notBuilt(made) }
        switch cell.verb {
        case "download": return try await download(name, cell)
        case "copy":
            var body: [String: any Sendable] = [
                "assets": [["recordName": name, "fieldName": "photo"]] as [[String: any Sendable]]
            ]
            if cell.database != "public" { body["zoneID"] = zoneID }
            return try word(of: try await post("assets/rereference", cell, body), "assets")
        default: throw SceneError.unknownVerb(cell.verb)
        }
    }

    /// Asks for a place for a file, sends it there, and saves the record that holds it.
    private func addFile(to name: String, in database: String, as role: AccessTable.Role) async throws -> String {
        let type = database == "public" ? "Leaflet" : "Note"
        let zone: [String: any Sendable] = database == "public" ? [:] : ["zoneID": zoneID]
        let token: [String: any Sendable] = ["recordType": type, "recordName": name, "fieldName": "photo"]
        let place = try await people.post(
            "assets/upload", database, as: role, zone.merging(["tokens": [token]]) { $1 })
        guard place.status == 200 else { return try word(of: place, nil) }
        let target = try RawClient.Answer.target(place["tokens", "0", "url"])
        let sent = try await people.cloud.client.post(target, Self.content)
        guard let receipt = sent["singleFile", "receipt"] as? String else { throw SceneError.notBuilt(sent.body) }
        var file: [String: any Sendable] = ["receipt": receipt, "size": Self.content.utf8.count]
        for key in ["fileChecksum", "referenceChecksum"] {
            if let value = sent["singleFile", key] as? String { file[key] = value }
        }
        let photo: [String: any Sendable] = ["value": file]
        let record: [String: any Sendable] = ["recordName": name, "recordType": type, "fields": ["photo": photo]]
        let operation: [String: any Sendable] = ["operationType": "forceUpdate", "record": record]
        return try word(
            of: try await people.post(
                "records/modify", database, as: role, zone.merging(["operations": [operation]]) { $1 }), "records")
    }

    /// Looks the record up and follows the link to its file.
    private func download(_ name: String, _ cell: AccessTable.Cell) async throws -> String {
        let zone: [String: any Sendable] = cell.database == "public" ? [:] : ["zoneID": zoneID]
        let looked = try await post("records/lookup", cell, zone.merging(["records": [["recordName": name]]]) { $1 })
        let word = try word(of: looked, "records")
        guard word == "yes" else { return word }
        let file = try await people.cloud.client.get(try looked.downloadTarget())
        guard file.status == 200, file.body == Self.content else { throw SceneError.unknownAnswer(file.body) }
        return "yes"
    }
}

/// The cells about subscriptions.
extension AccessScene {
    func attemptSubscription(_ cell: AccessTable.Cell) async throws -> String {
        let id = "Sub" + zone
        if cell.verb == "create" { return try await subscribe(id, cell.database, as: role) }
        let made = try await subscribe(id, cell.database, as: .owner)
        guard made == "yes" else { throw SceneError.notBuilt(made) }
        switch cell.verb {
        case "list":
            let answer = try await post("subscriptions/list", cell, [:])
            guard answer.status == 200 else { return try word(of: answer, nil) }
            let listed = answer["subscriptions"] as? [[String: Any]] ?? []
            return listed.contains { $0["subscriptionID"] as? String == id } ? "yes" : "hide"
        case "look up":
            return try word(
                of: try await post(
                    "subscriptions/lookup", cell,
                    ["subscriptions": [["subscriptionID": id]] as [[String: any Sendable]]]), "subscriptions")
        case "delete":
            let operation: [String: any Sendable] = [
                "operationType": "delete", "subscription": ["subscriptionID": id],
            ]
            return try word(
                of: try await post("subscriptions/modify", cell, ["operations": [operation]]), "subscriptions")
        default: throw SceneError.unknownVerb(cell.verb)
        }
    }

    /// Of the kind that the database has: to Ada's zone, to all zones shared with the caller, to leaflets.
    private func subscribe(_ id: String, _ database: String, as role: AccessTable.Role) async throws -> String {
        var subscription: [String: any Sendable] = ["subscriptionID": id]
        switch database {
        case "private":
            subscription["subscriptionType"] = "zone"
            subscription["zoneID"] = zoneID
        case "shared": subscription["subscriptionType"] = "database"
        default:
            subscription["subscriptionType"] = "query"
            subscription["firesOn"] = ["create"]
            let filter: [String: any Sendable] = [
                "fieldName": "n", "comparator": "EQUALS", "fieldValue": ["value": publicName],
            ]
            subscription["query"] = ["recordType": "Leaflet", "filterBy": [filter]] as [String: any Sendable]
        }
        let operation: [String: any Sendable] = ["operationType": "create", "subscription": subscription]
        return try word(
            of: try await people.post("subscriptions/modify", database, as: role, ["operations": [operation]]),
            "subscriptions")
    }
}
