import Foundation
import TextEncodings

/// A link to a share that is being opened on this device.
package struct LinkedShare: Hashable, Sendable {
    /// The link with the part behind the `#`, which is never sent.
    package var link: String
    /// The container.
    package var container: String
    /// The environment.
    package var environment: String
    /// The title of the share; nil if it has none or it is sealed.
    package var title: String?
    /// The owner's name, or else their record name.
    package var owner: String?
    /// `READ_ONLY` or `READ_WRITE`.
    package var permission: String
    /// A Boolean value that indicates whether the user has accepted the share.
    package var isAccepted: Bool
    /// A Boolean value that indicates whether the user owns the share.
    package var isOwner: Bool
    fileprivate var shortGUID: String
}

extension SignIn {
    /// Returns the share behind a link, for the account of this device.
    ///
    /// - Throws: `LinkError`, `SignInError`, and the errors of sending.
    package func linkedShare(_ link: String) async throws -> LinkedShare {
        let address = try ShareAddress(link)
        guard address.endpoint == configuration.endpoint else { throw LinkError.otherCloud(address.endpoint) }
        let guid = address.shortGUID
        let place: ShareLinkKey = try await ask(
            DeviceRequest(
                method: "GET", url: configuration.endpoint + "/share/" + guid.percentEncoded,
                headers: ["Accept": "application/json", "X-Welkin-Client": "sdk/1"], body: []))
        var share = LinkedShare(
            link: address.link, container: place.containerIdentifier, environment: place.environment, permission: "",
            isAccepted: false, isOwner: false, shortGUID: guid)
        let found = try await invitation("resolve", share)
        share.title = found.share?.fields?["cloudkit.title"]?.value?.text
        let name = found.ownerIdentity?.nameComponents
        let names = [name?.givenName, name?.familyName].compactMap { $0 }.joined(separator: " ")
        share.owner = names.isEmpty ? found.ownerIdentity?.userRecordName : names
        share.permission = found.participantPermission ?? ""
        share.isAccepted = found.participantStatus == "ACCEPTED"
        share.isOwner = found.participantType == "OWNER"
        return share
    }

    /// Takes part in the share for a user without an app for it; an app that is installed later finds the link, with its
    /// secret.
    package func accept(_ share: LinkedShare) async throws {
        if !share.isOwner { _ = try await invitation("accept", share) }
        try deliver(share)
    }

    /// Leaves the link for the app that it belongs to, which is notified and accepts the share (B-ACP-01).
    package func deliver(_ share: LinkedShare) throws {
        try OpenedShares(profileFolder: configuration.deviceProfile.folder).put(
            OpenedShares.Entry(link: share.link, container: share.container, environment: share.environment))
    }

    private func invitation(_ action: String, _ share: LinkedShare) async throws -> InvitationAnswer {
        var configuration = configuration
        configuration.environment = share.environment
        let there = SignIn(configuration: configuration, send: cloud.send)
        guard let entry = try await there.open(container: share.container) else { throw SignInError.notSignedIn }
        let path = "/database/1/\(share.container.percentEncoded)/\(share.environment)/public/records/\(action)"
        let tokens =
            "?ckAPIToken=" + (try there.cloud.apiToken(share.container)).percentEncoded + "&ckWebAuthToken="
            + entry.webAuthToken.percentEncoded
        let answer: InvitationAnswers = try await ask(
            DeviceRequest(
                method: "POST", url: configuration.endpoint + path + tokens,
                headers: ["Content-Type": "application/json", "X-Welkin-Client": "sdk/1"],
                body: Array(try JSONEncoder().encode(["shortGUIDs": [["value": share.shortGUID]]]))))
        guard let found = answer.results.first, found.serverErrorCode == nil else {
            throw LinkError.unknown
        }
        return found
    }

    private func ask<Answer: Decodable>(_ request: DeviceRequest) async throws -> Answer {
        let response = try await cloud.send(request)
        switch response.status {
        case 200: break
        case 404: throw LinkError.unknown
        default: throw SignInError.refused(Refusal(status: response.status, reason: "HTTP status \(response.status)"))
        }
        do {
            return try JSONDecoder().decode(Answer.self, from: Data(response.body))
        } catch {
            throw SignInError.answerMalformed
        }
    }
}

private struct ShareLinkKey: Decodable {
    var containerIdentifier: String
    var environment: String
}

private struct InvitationAnswers: Decodable {
    var results: [InvitationAnswer]
}

private struct InvitationAnswer: Decodable {
    var serverErrorCode: String?
    var participantType: String?
    var participantStatus: String?
    var participantPermission: String?
    var ownerIdentity: Person?
    var share: Record?

    struct Person: Decodable {
        var userRecordName: String?
        var nameComponents: Name?
    }

    struct Name: Decodable {
        var givenName: String?
        var familyName: String?
    }

    struct Record: Decodable {
        var fields: [String: Field]?
    }

    struct Field: Decodable {
        var value: Value?
    }

    /// A value as far as it is a text.
    struct Value: Decodable {
        var text: String?

        init(from decoder: any Decoder) throws {
            text = try? decoder.singleValueContainer().decode(String.self)
        }
    }
}
