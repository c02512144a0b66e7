import ArgumentParser
import CloudKitDevice
import Foundation
import TextEncodings

/// The kind of a database.
enum DatabaseType: String, ExpressibleByArgument, CaseIterable {
    case `public`
    case shared
    case `private`

    /// Accepts upper case, too.
    init?(argument: String) { self.init(rawValue: argument.lowercased()) }
}

/// The options of commands for records.
struct RecordOptions: ParsableArguments {
    @OptionGroup var tokenOption: TokenOption
    @OptionGroup var team: TeamOption
    @OptionGroup var containerOption: ContainerOption
    @OptionGroup var environmentOption: EnvironmentOption
    @Option(help: "public, shared or private.") var databaseType: DatabaseType
    @Option(help: "The record zone.") var zoneName: String = "_defaultZone"
    @Option(help: "The record name of the zone's owner, in the shared database.") var ownerId: String?
    @OptionGroup var cloud: CloudOptions

    /// Returns the database that the options name, for a user.
    func open() throws -> RecordDatabase {
        let place = try ContainerPlace(cloud, containerOption, environment: environmentOption.environment)
        let endpoint = place.configuration.endpoint
        let found = try tokenOption.findOptional(.user, for: endpoint)
        let token: UserToken
        let variable = ProcessInfo.processInfo.environment[TokenKind.user.variable] ?? ""
        let isSaved = tokenOption.token == nil && variable.isEmpty
        if let found {
            token = try UserToken(found, in: place)
        } else if let device = UserToken(signedInAt: place) {
            token = device
        } else {
            token = try UserToken(try tokenOption.find(.user, for: endpoint), in: place)
        }
        var zone: [String: JSONTree] = ["zoneName": .text(zoneName)]
        if let ownerId { zone["ownerRecordName"] = .text(ownerId) }
        return RecordDatabase(
            place: place, database: databaseType, token: token, renewsSaved: found != nil && isSaved,
            zone: .object(zone))
    }
}

extension UserToken {
    /// The token with which this machine is signed in; nil where it is not, or not in this container.
    fileprivate init?(signedInAt place: ContainerPlace) {
        let entry = try? place.configuration.deviceProfile.credentials(
            at: place.configuration.endpoint, for: place.container, environment: place.environment)
        guard let entry else { return nil }
        self.init(api: entry.apiToken, web: entry.webAuthToken)
    }
}

/// A zone of a database, as one user reaches it over web services.
struct RecordDatabase {
    var place: ContainerPlace
    var database: DatabaseType
    var token: UserToken
    /// Whether the token was saved and is replaced by the next one that the cloud sends.
    var renewsSaved: Bool
    var zone: JSONTree

    /// Items that a request may have.
    static let itemsMax = 200

    /// Returns the answer of an endpoint below the database.
    func post(_ endpoint: String, _ body: [String: JSONTree]) async throws -> JSONTree {
        let answer = try await CloudClient(endpoint: place.configuration.endpoint).send(
            CloudClient.Call(
                path:
                    "/database/1/\(place.container.percentEncoded)/\(place.environment)/\(database.rawValue)/\(endpoint)"
                    + "?ckAPIToken=\(token.api.percentEncoded)&ckWebAuthToken=\(token.web.percentEncoded)",
                body: .object(body.merging(["zoneID": zone]) { $1 }),
                refusedToken: "Session has expired or is invalid. A new user token may be required: cktool save-token "
                    + "--type user --email ADDRESS"))
        if renewsSaved, let web = answer.webAuthToken, web != token.web {
            let next = UserToken(api: token.api, web: web)
            try TokenFile().save(next.text, .user, for: place.configuration.endpoint)
        }
        return answer.tree
    }

    /// Carries one change out and returns its item of the answer.
    ///
    /// - Throws: `CloudRefusal` also for an error of the item.
    func modify(_ operation: String, _ record: [String: JSONTree]) async throws -> JSONTree {
        let answer = try await post(
            "records/modify",
            ["operations": .list([.object(["operationType": .text(operation), "record": .object(record)])])])
        return try item(of: answer)
    }

    /// Returns a record.
    ///
    /// - Throws: `CloudRefusal` where there is none.
    func lookup(_ name: String) async throws -> JSONTree {
        let answer = try await post(
            "records/lookup", ["records": .list([.object(["recordName": .text(name)])]), "desiredKeys": .list([])])
        return try item(of: answer)
    }

    private func item(of answer: JSONTree) throws -> JSONTree {
        guard let item = answer["records"]?.list?.first else {
            throw ToolFailure("The cloud's answer has no record.")
        }
        guard item["serverErrorCode"] == nil else { throw CloudRefusal(item: item) }
        return item
    }

    /// Uploads a file for a field of a record.
    ///
    /// - Returns: The value of the field.
    func upload(_ path: String, field: String, recordType: String, recordName: String) async throws -> JSONTree {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ToolFailure("The file \(path) cannot be read.")
        }
        guard data.count <= Self.fileBytesMax else {
            throw ToolFailure("The file \(path) has more than 50 MB, which web services do not take.")
        }
        let answer = try await post(
            "assets/upload",
            [
                "tokens": .list([
                    .object([
                        "recordType": .text(recordType), "recordName": .text(recordName), "fieldName": .text(field),
                    ])
                ])
            ])
        let token = answer["tokens"]?.list?.first ?? .null
        guard let url = token["url"]?.text else { throw CloudRefusal(item: token) }
        return try await CloudClient(endpoint: place.configuration.endpoint).upload(Array(data), to: url)
    }

    /// Bytes of a file that web services take.
    private static let fileBytesMax = 50 << 20
}
