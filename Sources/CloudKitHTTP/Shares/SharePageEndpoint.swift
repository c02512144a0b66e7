import CloudKitAccounts
import CloudKitModel
import CloudKitServer

/// `GET /share/{guid}`: for a client the container and environment of the link, for a person a page that shows what is shared, and without a
/// script how to open it.
///
/// The page of a public share shows its title and owner; of any other it shows no more than its holder knows (B-ACP-02).
struct SharePageEndpoint {
    var cloud: Cloud
    /// The tokens by which the page talks to the cloud; nil: it shows how to open the link elsewhere alone.
    var pageTokens: PageTokens?

    func show(_ request: IncomingRequest) async throws -> EndpointResponse {
        let guid = String(request.endpoint?.parameter ?? "")
        guard let (container, environment) = try await LocateShareLink(cloud).run(guid) else {
            if request.wantsJSON { throw RequestFailure.noSuchShare }
            return Pages.shareNotFound()
        }
        if request.wantsJSON {
            let body = LinkBody(
                containerIdentifier: container.name, environment: environment.rawValue, shortGUID: guid)
            return try .json(body, itemsOut: 1)
        }
        let app = pageTokens.map {
            Pages.SharedPlace(
                container: container, environment: environment,
                token: $0.token(container: container, environment: environment))
        }
        let address = DatabaseAddress(container: container, environment: environment, scope: .public)
        let link = ShareInvitationRequest(shortGUID: guid)
        // Without a user only a public share is resolved.
        let outcome = try? await ResolveShares(cloud).run([link], in: address, by: .anonymous).first
        guard case .invitation(let invitation)? = outcome else {
            return Pages.share(container: container, place: app, title: nil, owner: nil, thumbnail: nil)
        }
        let names = [invitation.owner.givenName, invitation.owner.familyName].compactMap { $0 }
        return Pages.share(
            container: container, place: app, title: invitation.share.text("cloudkit.title"),
            owner: names.isEmpty ? nil : names.joined(separator: " "),
            thumbnail: invitation.share.base64("cloudkit.thumbnailImageData"))
    }

    /// Whether a text can be the short GUID of a link.
    static func isLinkName(_ text: Substring) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    private struct LinkBody: Encodable {
        var containerIdentifier: String
        var environment: String
        var shortGUID: String
    }
}

extension Record {
    fileprivate func text(_ name: String) -> String? {
        let value = try? fields.first { $0.name == name && !$0.type.isEncrypted }?.value()
        guard case .string(let text)? = value else { return nil }
        return text
    }

    /// Returns the base 64 of a field of bytes, as its JSON has it.
    fileprivate func base64(_ name: String) -> String? {
        guard let field = fields.first(where: { $0.name == name }), field.type.base == .bytes, !field.type.isEncrypted,
            !field.type.isList, field.json.count > 2
        else { return nil }
        return String(decoding: field.json.dropFirst().dropLast(), as: UTF8.self)
    }
}
