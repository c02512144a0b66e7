import CloudKitModel
import CloudKitServer

extension DatabaseEndpoints {
    /// `GET /share/{guid}`: for a client which container and environment the link belongs to, for a person a page that needs
    /// no script.
    ///
    /// The page of a public share shows its title and owner; of any other it does not tell more than its holder knows
    /// (B-ACP-02).
    func sharePage(ofLink guid: String, _ exchange: Exchange) async throws -> Answer {
        guard let (container, environment) = try await LocateShareLink(cloud).run(guid) else {
            if exchange.wantsJSON { throw RequestFailure.noSuchShare }
            return Pages.shareNotFound()
        }
        if exchange.wantsJSON {
            let body = LinkBody(
                containerIdentifier: container.name, environment: environment.rawValue, shortGUID: guid)
            return Answer(body: try SmallJSON.encode(body), itemsOut: 1)
        }
        let address = DatabaseAddress(container: container, environment: environment, scope: .public)
        let request = ShareInvitationRequest(shortGUID: guid)
        // Nobody is signed in here: only a public share answers.
        let outcome = try? await ResolveShares(cloud).run([request], in: address, by: .anonymous).first
        guard case .invitation(let invitation)? = outcome else {
            return Pages.share(container: container, title: nil, owner: nil, thumbnail: nil)
        }
        let names = [invitation.owner.givenName, invitation.owner.familyName].compactMap { $0 }
        return Pages.share(
            container: container, title: invitation.share.text("cloudkit.title"),
            owner: names.isEmpty ? nil : names.joined(separator: " "),
            thumbnail: invitation.share.base64("cloudkit.thumbnailImageData"))
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

    /// The base 64 of a field of bytes, which is how its JSON has it.
    fileprivate func base64(_ name: String) -> String? {
        guard let field = fields.first(where: { $0.name == name }), field.type.base == .bytes, !field.type.isEncrypted,
            !field.type.isList, field.json.count > 2
        else { return nil }
        return String(decoding: field.json.dropFirst().dropLast(), as: UTF8.self)
    }
}
