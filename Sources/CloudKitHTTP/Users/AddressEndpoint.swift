import CloudKitAccounts
import CloudKitModel
import Logging

/// The endpoint by which people prove that the address of their account is theirs.
///
/// `accounts/address {deviceID, deviceSecret, sendsLink?}` → `{email, isProved, isRequired}`: whether the address is proved, and whether this
/// cloud counts only proved ones; `sendsLink` has a link mailed to it. A browser on a page of the cloud sends its web token in place of
/// `deviceID` and `deviceSecret`. `{code}`, from the link, proves the address, whoever sends it.
struct AddressEndpoint {
    var store: AccountStore
    var sessions: DeviceSessions
    var proofLimiter: ProofLimiter
    /// nil: the cloud sends no mail.
    var mail: AddressMail?

    func handle(_ call: DeviceCall) async throws -> EndpointResponse {
        let body = try SmallJSON.decode(Body.self, from: call.body)
        if let code = body.code {
            let account = try await store.addressProofs.prove(code: code, address: call.address, proofLimiter)
            return try answer(account)
        }
        let sender = try call.accountSender(in: store)
        let (_, account) = try await sessions.owner(of: sender, now: store.serverEnvironment.now())
        if body.sendsLink == true {
            guard let mail else { throw Self.noMail }
            try await mail.sendLink(toAccount: account.id)
        }
        return try answer(account)
    }

    private func answer(_ account: Account) throws -> EndpointResponse {
        try .json(Answer(email: account.email, isProved: account.isEmailProved, isRequired: mail != nil))
    }

    private struct Body: Decodable {
        var sendsLink: Bool?
        var code: String?
    }

    private struct Answer: Encodable {
        var email: String
        var isProved: Bool
        var isRequired: Bool
    }

    private static let noMail = RequestFailure(
        .badRequest, "this cloud sends no mail", remedy: "Its operator can note that the address is yours.")
}

/// Mails the links by which people prove their addresses.
struct AddressMail: Sendable {
    var delivery: any MailDelivery
    /// The address of the cloud as the operator has set it: never one that a request names, whose sender would get the code.
    var publicURL: String
    var proofs: AddressProofs
    var logger: Logger

    /// Mails a link to the address of an account, unless it is proved.
    ///
    /// - Throws: `RequestFailure` `throttled` after earlier ones, `tryAgainLater` if the mail server took none.
    func sendLink(toAccount id: String) async throws {
        guard let link = try await proofs.makeLink(forAccount: id) else { return }
        do {
            try await delivery.send(
                .addressProof("\(publicURL)/address#\(link.code)", to: link.email, cloud: publicURL))
        } catch {
            logger.warning("a mail was not sent", metadata: ["error": .string(String(describing: error))])
            throw RequestFailure(.tryAgainLater, "the mail was not sent", remedy: "Try again later.")
        }
    }
}
