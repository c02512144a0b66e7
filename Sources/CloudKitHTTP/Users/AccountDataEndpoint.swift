import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Foundation

/// The endpoint that tells people where their data is, so that they can take all of it along.
///
/// `accounts/data {deviceID, deviceSecret, containers?}` → `{containers: [{container, environment, apiToken, ckWebAuthToken?,
/// userRecordName?, records, recordBytes, assetBytes, quotaBytes?}], isComplete}`: the containers that know the account, and those named in
/// the request which the cloud has, each with the API token of the cloud's own pages. A browser on a page of the cloud sends its web token
/// in place of `deviceID` and `deviceSecret`, and gets a web token for each container.
struct AccountDataEndpoint {
    var cloud: Cloud
    var signIn: DeviceSignIn

    /// Containers of one answer; each takes up to eight reads.
    private static let containersMax = 200
    private static let namedMax = 200

    func list(_ call: DeviceCall) async throws -> EndpointResponse {
        let body = try SmallJSON.decode(Body.self, from: call.body)
        let named = body.containers ?? []
        guard named.count <= Self.namedMax, named.allSatisfy(ContainerPath.isContainerName) else {
            throw RequestFailure(
                .badRequest, "bad list of containers", remedy: "Name at most \(Self.namedMax) containers.")
        }
        let store = cloud.accountStore
        let (session, account) = try await store.sessions.owner(
            of: try call.accountSender(in: store), now: store.serverEnvironment.now())
        let (uses, isComplete) = try await MeasureAccount(cloud).run(
            account.id, containersMax: Self.containersMax)
        var lines: [Line] = []
        for use in uses where use.container != Pages.accountContainer {
            lines.append(try line(use.container, use.environment, use, session))
        }
        for container in Set(named).sorted().map({ ContainerID($0) }) where container != Pages.accountContainer {
            for environment in try await store.apiTokens.environments(of: container)
            where !uses.contains(where: { $0.container == container && $0.environment == environment }) {
                lines.append(try line(container, environment, nil, session))
            }
        }
        return try .json(Answer(containers: lines, isComplete: isComplete))
    }

    private func line(
        _ container: ContainerID, _ environment: Environment, _ use: AccountUse?, _ session: DeviceSession
    ) throws -> Line {
        let pageTokens = PageTokens(cloud.serverEnvironment)
        let token = pageTokens.token(container: container, environment: environment)
        var webToken: String?
        if session.isBrowser, let row = pageTokens.row(token, container: container, environment: environment) {
            webToken = try signIn.pageToken(
                of: session, place: .init(container: container, environment: environment, apiToken: row))
        }
        return Line(
            container: container.name, environment: environment.rawValue, apiToken: token, ckWebAuthToken: webToken,
            userRecordName: use?.user.recordName, records: use?.records ?? 0, recordBytes: use?.recordBytes ?? 0,
            assetBytes: use?.assetBytes ?? 0, quotaBytes: use?.quotaBytes)
    }

    private struct Body: Decodable {
        var containers: [String]?
    }

    private struct Answer: Encodable {
        var containers: [Line]
        var isComplete: Bool
    }

    private struct Line: Encodable {
        var container: String
        var environment: String
        var apiToken: String
        var ckWebAuthToken: String?
        var userRecordName: String?
        var records: UInt64
        var recordBytes: UInt64
        var assetBytes: UInt64
        var quotaBytes: UInt64?
    }
}
