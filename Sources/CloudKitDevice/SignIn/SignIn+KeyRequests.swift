import CloudKitEncryption
import Foundation

/// The progress of a device that asks for the account's keys.
package enum KeyRequestProgress: Hashable, Sendable {
    /// The account's devices see the request; the person goes to one that has the keys.
    case asked(expires: Int64)
    /// A device has answered: the person types this code there.
    case code(String)
}

/// The reason why a device did not get the account's keys from another one, or did not give them.
package enum KeyRequestError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The account has no such request, or more than one whose device begins so.
    case notFound
    case ambiguous
    case refused
    case expired
    /// What the person typed is not the code of the other device, as often as may be.
    case codesDiffer
    /// The cloud shows something else than before, or than fits: it, or someone between, is lying.
    case contradicted

    /// A textual form of the value, for logs and debugging.
    package var description: String {
        switch self {
        case .notFound: "No device waits for approval. Ask on the new device: welkin keychain request"
        case .ambiguous: "More than one device waits. Name one by the first digits of its id."
        case .refused: "Another device of the account has refused. Nothing was given."
        case .expired: "The request has expired, or was taken back. Ask again on the new device."
        case .codesDiffer:
            "The codes differ. Nothing was given: someone may stand between your devices and the cloud. Ask again; if it happens "
                + "again, do not use this cloud."
        case .contradicted:
            "The cloud changed the request while it was under way. Nothing was given. Do not use this cloud."
        }
    }
}

/// Another device of the account that asks for its keys.
package struct ListedKeyRequest: Codable, Hashable, Sendable {
    /// The session of the device that asks.
    package var deviceID: String
    /// Its name.
    package var name: String
    /// Whether it is a browser.
    package var isBrowser: Bool
    /// The network address from which it asks, as the cloud saw it.
    package var address: String
    /// Milliseconds since 1970.
    package var created: Int64
    /// Milliseconds since 1970.
    package var expires: Int64
    var isCaller: Bool
    var state: String
    var commitment: Data
    var identity: Data
    var approver: String?
    var answer: Data?
    var publicKey: Data?
    var nonce: Data?
    var sealed: Data?
    var receipt: Data?

    /// Whether a device may answer.
    package var isWaiting: Bool { state == "waiting" }
}

/// A request that this device has answered; the person has to type the code before it is approved.
package struct AnsweredKeyRequest: Sendable {
    /// The request as the person saw it.
    package let request: ListedKeyRequest
    let approval: KeyApproval
    let secret: AccountSecret

    /// The six digits that the new device wants to see, to be shown once it is approved.
    package var confirmation: String { approval.confirmation }
}

extension SignIn {
    // MARK: The device that asks

    /// Asks the other devices of the account for its keys, waits until one has given them, and keeps them in the profile.
    ///
    /// - Parameters:
    ///   - container: The container by which the cloud is reached.
    ///   - pause: Waits for a moment between two looks at the cloud.
    ///   - report: Shows the person how far it is.
    ///   - confirm: Asks the person for the six digits that the approving device shows, at most `typingsMax` times; nothing is kept before they
    ///     are right. nil: the person gives up.
    /// - Throws: `KeyRequestError`, `SignInError`, `EncryptionError`.
    package func requestKeys(
        container: String, pause: () async throws -> Void, report: (KeyRequestProgress) -> Void,
        confirm: () async throws -> String?
    ) async throws {
        let (credentials, address) = try signedIn()
        let request = try KeyRequest()
        var body = credentials.proof
        body["commitment"] = .bytes(request.commitment)
        let asked: AskedAnswer = try await post("approvals/create", in: container, body, as: credentials)
        do {
            report(.asked(expires: asked.expires))
            let line = Line(container: container, credentials: credentials, expires: asked.expires)
            let secret = try await receive(request, over: line, pause: pause, report: report, confirm: confirm)
            let status: KeychainAnswer = try await post(
                "keychain/get", in: container, credentials.proof, as: credentials)
            guard let identity = status.identity, try Self.fits(secret, identity) else {
                throw KeyRequestError.contradicted
            }
            let keychain = DeviceKeychain(account: address.text, generation: status.generation, secret: secret)
            // Another process may have signed the device out meanwhile.
            guard try configuration.deviceProfile.store(keychain, of: credentials.deviceID) else {
                throw SignInError.notSignedIn
            }
        } catch {
            // The other devices need not show it any longer.
            try? await refuse(asked.deviceID, container: container)
            throw error
        }
    }

    private func receive(
        _ request: KeyRequest, over line: Line, pause: () async throws -> Void,
        report: (KeyRequestProgress) -> Void, confirm: () async throws -> String?
    ) async throws -> AccountSecret {
        let credentials = line.credentials
        // The first answer counts: another one, after the key was revealed, could have been searched for.
        var approval: KeyApproval?
        var answered: ListedKeyRequest?
        while true {
            let listed = try await list(over: line, pause)
            guard let own = listed.first(where: { $0.isCaller && $0.deviceID == credentials.deviceID }) else {
                throw KeyRequestError.expired
            }
            guard own.state != "refused" else { throw KeyRequestError.refused }
            if let answered, own.answer != answered.answer || own.approver != answered.approver {
                throw KeyRequestError.contradicted
            }
            if approval == nil, let approver = own.approver, let answer = own.answer {
                let made = try KeyApproval(
                    of: request, device: credentials.deviceID, approver: approver, answer: Array(answer),
                    identity: PublicIdentity(bytes: Array(own.identity)))
                (approval, answered) = (made, own)
                var body = credentials.proof
                body["publicKey"] = .bytes(request.publicKey)
                body["nonce"] = .bytes(request.nonce)
                _ = try await change("approvals/reveal", body, over: line, pause: pause)
                report(.code(made.code))
            }
            if let approval, let sealed = own.sealed {
                let secret = try approval.open(Array(sealed), with: request)
                guard try await Self.isTyped(approval.confirmation, ask: confirm) else {
                    throw KeyRequestError.codesDiffer
                }
                var body = credentials.proof
                body["receipt"] = .bytes(approval.receipt(secret))
                // The keys are here; that the other device learns of it is a courtesy.
                _ = try? await change("approvals/finish", body, over: line, pause: pause)
                return secret
            }
            try await pause()
        }
    }

    // MARK: The device that approves

    /// Returns the other devices of the account that ask for its keys, oldest first.
    package func keyRequests(container: String) async throws -> [ListedKeyRequest] {
        let (credentials, _) = try signedIn()
        return try await list(container, credentials).filter { !$0.isCaller && $0.isWaiting }
    }

    /// Answers a request, and waits until the new device has revealed its key and shows the code.
    ///
    /// - Parameters:
    ///   - id: The first digits of the id of the device that asks; nil: the only one.
    ///   - container: The container by which the cloud is reached.
    ///   - random: Gives the nonce.
    ///   - pause: Waits for a moment between two looks at the cloud.
    /// - Throws: `KeyRequestError`, `SignInError`, `EncryptionError.contradicted` for a key to which the device did not commit itself.
    package func answerKeyRequest(
        of id: String?, container: String, random: Randomness = .system, pause: () async throws -> Void
    ) async throws -> AnsweredKeyRequest {
        let waiting = try await keyRequests(container: container).filter { $0.deviceID.hasPrefix(id ?? "") }
        guard let request = waiting.first else { throw KeyRequestError.notFound }
        guard waiting.count == 1 else { throw KeyRequestError.ambiguous }
        return try await answer(request, container: container, random: random, pause: pause)
    }

    /// Answers a request that was listed, and waits until the new device has revealed its key and shows the code.
    ///
    /// - Parameters:
    ///   - request: As the person saw it.
    ///   - container: The container by which the cloud is reached.
    ///   - random: Gives the nonce.
    ///   - pause: Waits for a moment between two looks at the cloud.
    /// - Throws: `KeyRequestError`, `SignInError`, `EncryptionError.contradicted` for a key to which the device did not commit itself.
    package func answer(
        _ request: ListedKeyRequest, container: String, random: Randomness = .system, pause: () async throws -> Void
    ) async throws -> AnsweredKeyRequest {
        let (credentials, _) = try signedIn()
        guard let keychain = try configuration.deviceProfile.keychain() else { throw SignInError.keysMissing }
        // Drawn when the commitment is here, and not before.
        let nonce = random.bytes(32)
        var body = credentials.proof
        body["device"] = .text(request.deviceID)
        body["nonce"] = .bytes(nonce)
        let line = Line(container: container, credentials: credentials, expires: request.expires)
        let isCertain = try await change("approvals/answer", body, over: line, pause: pause)
        while true {
            let listed = try await list(over: line, pause)
            guard let now = listed.first(where: { $0.deviceID == request.deviceID && $0.created == request.created })
            else { throw KeyRequestError.expired }
            guard now.state != "refused" else { throw KeyRequestError.refused }
            // Another device of the account may have been faster.
            guard isCertain || now.approver == credentials.deviceID else { throw KeyRequestError.notFound }
            if let publicKey = now.publicKey, let revealed = now.nonce {
                let approval: KeyApproval
                do {
                    approval = try KeyApproval(
                        device: request.deviceID, approver: credentials.deviceID,
                        commitment: Array(request.commitment), publicKey: Array(publicKey), nonce: Array(revealed),
                        answer: nonce, secret: keychain.secret)
                } catch {
                    try? await refuse(request.deviceID, container: container)
                    throw error
                }
                return AnsweredKeyRequest(request: request, approval: approval, secret: keychain.secret)
            }
            try await pause()
        }
    }

    /// Gives the device the account's keys if the person types the code that it shows; refuses the request otherwise.
    ///
    /// - Parameters:
    ///   - answered: The request.
    ///   - container: The container by which the cloud is reached.
    ///   - pause: Waits for a moment between two looks at the cloud; called at most `receiptPausesMax` times.
    ///   - ask: Asks the person for the six digits, at most `typingsMax` times. nil: the person gives up.
    ///   - report: Shows the person the six digits that the new device asks for.
    /// - Returns: Whether the new device has shown that it opened the keys.
    /// - Throws: `KeyRequestError`, `SignInError`, `EncryptionError`.
    package func approve(
        _ answered: AnsweredKeyRequest, container: String, pause: () async throws -> Void,
        ask: () async throws -> String?, report: (String) -> Void
    ) async throws -> Bool {
        let (credentials, _) = try signedIn()
        guard try await Self.isTyped(answered.approval.code, ask: ask) else {
            try? await refuse(answered.request.deviceID, container: container)
            throw KeyRequestError.codesDiffer
        }
        var body = credentials.proof
        body["device"] = .text(answered.request.deviceID)
        body["sealed"] = .bytes(try answered.approval.seal(answered.secret))
        let line = Line(container: container, credentials: credentials, expires: answered.request.expires)
        _ = try await change("approvals/approve", body, over: line, pause: pause)
        report(answered.confirmation)
        let receipt = answered.approval.receipt(answered.secret)
        for _ in 0..<Self.receiptPausesMax {
            let listed = try await list(over: line, pause)
            if listed.contains(where: {
                $0.deviceID == answered.request.deviceID
                    && areEqualInConstantTime(Array($0.receipt ?? Data()), receipt)
            }) {
                return true
            }
            try await pause()
        }
        return false
    }

    /// Refuses a request; the device cannot ask again for some minutes.
    package func refuse(_ id: String, container: String) async throws {
        let (credentials, _) = try signedIn()
        var body = credentials.proof
        body["device"] = .text(id)
        try await done("approvals/refuse", in: container, body, as: credentials)
    }

    /// Looks at the cloud for the receipt of the new device, at most.
    package static let receiptPausesMax = 120

    /// Times that a person may type a code: the codes of one request stay the same, so that a cloud which lies gains nothing by another attempt.
    package static let typingsMax = 3

    private static func isTyped(_ digits: String, ask: () async throws -> String?) async throws -> Bool {
        for _ in 0..<typingsMax {
            guard let typed = try await ask() else { return false }
            if KeyApproval.isTyped(typed, for: digits) { return true }
        }
        return false
    }

    // MARK: Answers that are lost

    /// The connection of one device for one request.
    private struct Line {
        var container: String
        var credentials: DeviceCredentials
        /// When the request expires, in milliseconds since 1970.
        var expires: Int64

        /// Returns a Boolean value that indicates whether a call can be repeated: its answer was lost, or the cloud cannot serve it now.
        func isPassing(_ error: any Error) -> Bool {
            guard DeviceProfile.now < expires else { return false }
            if case SignInError.refused(let refusal) = error { return refusal.status >= 500 || refusal.status == 429 }
            return !(error is SignInError || error is DeviceProfileError || error is CancellationError)
        }
    }

    /// Returns the requests of the account, however often the connection is lost meanwhile.
    private func list(over line: Line, _ pause: () async throws -> Void) async throws -> [ListedKeyRequest] {
        while true {
            do {
                return try await list(line.container, line.credentials)
            } catch  where line.isPassing(error) {
                try await pause()
            }
        }
    }

    /// Changes a request, and again if the answer is lost: a step that has been taken is refused as a conflict.
    ///
    /// - Returns: Whether it is certain that this device has taken the step.
    private func change(
        _ action: String, _ body: DeviceCloud.Body, over line: Line, pause: () async throws -> Void
    ) async throws -> Bool {
        var isCertain = true
        while true {
            do {
                try await done(action, in: line.container, body, as: line.credentials)
                return true
            } catch SignInError.refused(let refusal) where !isCertain && refusal.code == "conflict" {
                return false
            } catch  where line.isPassing(error) {
                isCertain = false
                try await pause()
            }
        }
    }

    private func list(_ container: String, _ credentials: DeviceCredentials) async throws -> [ListedKeyRequest] {
        let answer: ListAnswer = try await post("approvals/list", in: container, credentials.proof, as: credentials)
        return answer.requests
    }

    private struct AskedAnswer: Decodable {
        var deviceID: String
        var expires: Int64
    }

    private struct ListAnswer: Decodable {
        var requests: [ListedKeyRequest]
    }

    private struct KeychainAnswer: Decodable {
        var generation: Int
        var identity: Data?
    }
}
