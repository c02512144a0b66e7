import CloudKitDevice
import CloudKitEncryption
import Foundation
import Synchronization
import Testing

@testable import CloudKit
@testable import CloudKitClient
@testable import CloudKitDevice
@testable import CloudKitEncryption

/// Devices that get the account's keys from other devices, past a cloud that would like to have them, or to give its own.
@Suite(.timeLimit(.minutes(20))) struct ApprovalAttackTests {
    /// A person with two devices: types on each what the other shows.
    private final class Person: Sendable {
        private let state = Mutex((code: String?.none, confirmation: String?.none, isOver: false))

        /// The new device shows its code.
        func see(code: String) { state.withLock { $0.code = code } }
        /// The old device shows its code.
        func see(confirmation: String) { state.withLock { $0.confirmation = confirmation } }
        /// One of the devices has ended.
        func end() { state.withLock { $0.isOver = true } }
        var isOver: Bool { state.withLock { $0.isOver } }

        func typeCode() async -> String? { await wait { $0.code } }
        func typeConfirmation() async -> String? { await wait { $0.confirmation } }

        private func wait(
            _ part: @Sendable ((code: String?, confirmation: String?, isOver: Bool)) -> String?
        ) async -> String? {
            while true {
                let (found, isOver) = state.withLock { (part($0), $0.isOver) }
                if found != nil || isOver { return found }
                await Task.yield()
            }
        }
    }

    private struct Outcome {
        var asked: Result<Void, any Error>
        var gave: Result<Bool, any Error>

        func isRefused(_ asked: KeyRequestError, _ gave: KeyRequestError) -> Bool {
            self.asked.error as? KeyRequestError == asked && self.gave.error as? KeyRequestError == gave
        }
    }

    /// A device that is signed in without keys, as a provider would sign it in.
    private func keyless(_ cloud: HostileCloud, _ name: String = "ada/laptop") async throws -> Device {
        let device = cloud.unsignedDevice(name)
        var credentials = try await cloud.signIn(device).credentials
        credentials.trouble = .keysLocked
        let profile = device.configuration.deviceProfile
        try profile.signOut()
        try profile.store(credentials, keychain: nil)
        #expect(try profile.keychain() == nil)
        return device
    }

    private static let pause: @Sendable () async throws -> Void = { await Task.yield() }

    /// Lets the new device ask and the old one give.
    private func exchange(
        _ new: Device, _ old: Device, person: Person = Person(),
        typeCode: (@Sendable () async -> String?)? = nil, typeConfirmation: (@Sendable () async -> String?)? = nil
    ) async -> Outcome {
        async let asked = Self.result {
            defer { person.end() }
            try await new.signIn.requestKeys(
                container: HostileCloud.container, pause: Self.pause,
                report: { if case .code(let code) = $0 { person.see(code: code) } },
                confirm: {
                    if let typeConfirmation { await typeConfirmation() } else { await person.typeConfirmation() }
                })
        }
        async let gave = Self.result {
            defer { person.end() }
            while try await old.signIn.keyRequests(container: HostileCloud.container).isEmpty {
                guard !person.isOver else { throw KeyRequestError.notFound }
            }
            let answered = try await old.signIn.answerKeyRequest(
                of: nil, container: HostileCloud.container, pause: Self.pause)
            return try await old.signIn.approve(
                answered, container: HostileCloud.container, pause: Self.pause,
                ask: { if let typeCode { await typeCode() } else { await person.typeCode() } },
                report: { person.see(confirmation: $0) })
        }
        return await Outcome(asked: asked, gave: gave)
    }

    private static func result<Value: Sendable>(
        _ body: () async throws -> Value
    ) async -> Result<Value, any Error> {
        do { return .success(try await body()) } catch { return .failure(error) }
    }

    /// Runs an exchange past a lie, and expects that the new device has no keys afterwards.
    private func refused(
        _ attack: Attack, _ lie: @escaping @Sendable (Ghost, inout Exchange) -> Void,
        typeConfirmation: (@Sendable () async -> String?)? = nil,
        _ check: (Outcome) throws -> Void = { _ in }
    ) async throws {
        try await HostileCloud.run { cloud in
            let old = try await cloud.device("ada")
            let ghosts = try await cloud.device("ghost")
            let ghost = Ghost(secret: try ghosts.secret, userName: try ghosts.userName)
            let new = try await keyless(cloud)
            cloud.liar.tell { lie(ghost, &$0) }
            let outcome = await exchange(new, old, typeConfirmation: typeConfirmation)
            cloud.liar.stop()
            #expect(cloud.liar.told > 0)
            #expect(try new.configuration.deviceProfile.keychain() == nil)
            expect(outcome, of: attack)
            try check(outcome)
            // Nobody else has got the secret either.
            try Self.expectNoSecret(of: old, in: cloud)
        }
    }

    /// Expects that the devices notice an attack when and by what the catalogue says.
    private func expect(_ outcome: Outcome, of attack: Attack) {
        guard case .refusedAtApproval(let when) = attack.verdict else {
            Issue.record("\(attack) is no attack on an approval")
            return
        }
        let refusals = [outcome.asked.error, outcome.gave.error].map { $0 as? KeyRequestError }
        switch when {
        case .codeOnOldDevice: #expect(refusals == [.refused, .codesDiffer])
        case .codeOnNewDevice: #expect(refusals[0] == .codesDiffer)
        default:
            #expect(!refusals.contains(.codesDiffer))
            #expect(outcome.asked.error != nil)
        }
    }

    private static func expectNoSecret(of device: Device, in cloud: HostileCloud) throws {
        let secret = Data(try device.secret.bytes)
        for exchange in cloud.liar.traffic {
            for text in exchange.request.texts + exchange.answer.texts {
                #expect(Base64Text.decode(text).map { Data($0).firstRange(of: secret) == nil } ?? true)
            }
        }
    }

    @Test func `B-TM-12 a device gets the keys from another one, without the password or the words`() async throws {
        try await HostileCloud.run { cloud in
            let old = try await cloud.device("ada")
            let new = try await keyless(cloud)
            let outcome = await exchange(new, old)
            try outcome.asked.get()
            #expect(try outcome.gave.get())
            #expect(try new.secret.bytes == old.secret.bytes)
            guard case .available = new.configuration.deviceProfile.accountState else {
                Issue.record("\(new.configuration.deviceProfile.accountState)")
                return
            }
            try Self.expectNoSecret(of: old, in: cloud)
            // The request is used up.
            #expect(try await old.signIn.keyRequests(container: HostileCloud.container).isEmpty)
            await #expect(throws: KeyRequestError.notFound) {
                try await old.signIn.answerKeyRequest(of: nil, container: HostileCloud.container, pause: Self.pause)
            }
        }
    }

    @Test func `the person refuses, or types the code wrongly three times`() async throws {
        try await HostileCloud.run { cloud in
            let old = try await cloud.device("ada")
            let new = try await keyless(cloud)
            let typings = Mutex(0)
            let wrong = await exchange(
                new, old,
                typeCode: {
                    typings.withLock { $0 += 1 }
                    return "no code"
                })
            #expect(typings.withLock { $0 } == 3)
            #expect(wrong.isRefused(KeyRequestError.refused, KeyRequestError.codesDiffer))
            // It may not ask again at once.
            let again = await exchange(new, old)
            #expect((again.asked.error as? SignInError)?.isThrottled == true)
            let other = try await keyless(cloud, "ada/tablet")
            let asking = Task {
                try await other.signIn.requestKeys(
                    container: HostileCloud.container, pause: Self.pause, report: { _ in }, confirm: { nil })
            }
            while true {
                guard let request = try await old.signIn.keyRequests(container: HostileCloud.container).first else {
                    continue
                }
                try await old.signIn.refuse(request.deviceID, container: HostileCloud.container)
                break
            }
            await #expect(throws: KeyRequestError.refused) { try await asking.value }
            #expect(try other.configuration.deviceProfile.keychain() == nil)
        }
    }

    @Test func `the person mistypes each code twice`() async throws {
        try await HostileCloud.run { cloud in
            let old = try await cloud.device("ada")
            let new = try await keyless(cloud)
            let person = Person()
            let codes = Mutex(0)
            let confirmations = Mutex(0)
            let outcome = await exchange(
                new, old, person: person,
                typeCode: {
                    if codes.withLock({
                        $0 += 1
                        return $0
                    }) < 3 {
                        return "000"
                    }
                    return await person.typeCode()
                },
                typeConfirmation: {
                    if confirmations.withLock({
                        $0 += 1
                        return $0
                    }) < 3 {
                        return ""
                    }
                    return await person.typeConfirmation()
                })
            try outcome.asked.get()
            #expect(try new.secret.bytes == old.secret.bytes)
            #expect(codes.withLock { $0 } == 3 && confirmations.withLock { $0 } == 3)
        }
    }

    @Test func `B-TM-12 a cloud that swaps the key of the new device`() async throws {
        try await refused(.approvalKeySwapped) { ghost, exchange in
            guard exchange.device == "ada/phone", let key = try? ghost.request.publicKey else { return }
            exchange.changeRequests { if $0["publicKey"] != nil { $0["publicKey"] = JSON(base64: key) } }
        } _: { outcome in
            guard case .contradicted(.keyApproval, _) = outcome.gave.error as? EncryptionError else {
                Issue.record("\(outcome)")
                return
            }
            #expect(outcome.asked.error as? KeyRequestError == .refused)
        }
    }

    @Test func `B-TM-12 a cloud that stands in the place of the new device from the start`() async throws {
        try await refused(.approvalByCloudAsNewDevice) { ghost, exchange in
            guard exchange.device == "ada/phone", let own = try? ghost.request else { return }
            exchange.changeRequests {
                $0["commitment"] = JSON(base64: own.commitment)
                if $0["publicKey"] != nil {
                    $0["publicKey"] = JSON(base64: own.publicKey)
                    $0["nonce"] = JSON(base64: own.nonce)
                }
            }
        }
    }

    @Test func `B-TM-12 a cloud that gives its own keys in the place of the person's device`() async throws {
        let typings = Mutex(0)
        let revealed = Mutex<JSON>([:])
        try await refused(
            .approvalByCloudAsOldDevice,
            { ghost, exchange in
                // The old device sees no request.
                guard exchange.device == "ada/laptop" else { return exchange.changeRequests { $0["state"] = "opened" } }
                exchange.changeRequests { request in
                    guard let identity = try? ghost.identity.publicIdentity else { return }
                    let answer = [UInt8](repeating: 9, count: 32)
                    request["identity"] = JSON(base64: identity.bytes)
                    request["approver"] = "ghost"
                    request["answer"] = JSON(base64: answer)
                    guard let device = request["deviceID"]?.text, let commitment = request["commitment"]?.base64,
                        let publicKey = revealed.withLock({ $0["publicKey"]?.base64 }),
                        let nonce = revealed.withLock({ $0["nonce"]?.base64 }),
                        let approval = try? KeyApproval(
                            device: device, approver: "ghost", commitment: commitment, publicKey: publicKey,
                            nonce: nonce, answer: answer, secret: ghost.secret),
                        let sealed = try? approval.seal(ghost.secret)
                    else { return }
                    request["sealed"] = JSON(base64: sealed)
                }
                if exchange.endpoint == "approvals/reveal" {
                    // The real cloud has no answer yet.
                    exchange.status = 200
                    exchange.body = Array("{}".utf8)
                    let request = exchange.request
                    revealed.withLock { $0 = request }
                }
            },
            typeConfirmation: {
                typings.withLock { $0 += 1 }
                return "123 456"
            },
            { outcome in
                #expect(outcome.asked.error as? KeyRequestError == .codesDiffer)
                #expect(typings.withLock { $0 } == 3)
            })
    }

    @Test func `B-TM-12 a cloud that shows the new device another account's identity`() async throws {
        try await refused(.approvalIdentitySwapped) { ghost, exchange in
            guard exchange.device == "ada/laptop", let identity = try? ghost.identity.publicIdentity else { return }
            exchange.changeRequests { $0["identity"] = JSON(base64: identity.bytes) }
        }
    }

    @Test func `B-TM-12 a cloud that exchanges the sealed keys for those of another account`() async throws {
        try await refused(.approvalSecretSwapped) { ghost, exchange in
            guard exchange.device == "ada/laptop" else { return }
            exchange.changeRequests { request in
                guard request["sealed"] != nil, let device = request["deviceID"]?.text,
                    let approver = request["approver"]?.text, let commitment = request["commitment"]?.base64,
                    let publicKey = request["publicKey"]?.base64, let nonce = request["nonce"]?.base64,
                    let answer = request["answer"]?.base64,
                    let approval = try? KeyApproval(
                        device: device, approver: approver, commitment: commitment, publicKey: publicKey, nonce: nonce,
                        answer: answer, secret: ghost.secret),
                    let sealed = try? approval.seal(ghost.secret)
                else { return }
                request["sealed"] = JSON(base64: sealed)
            }
        } _: { outcome in
            #expect(outcome.asked.error as? EncryptionError == .doesNotOpen(.keyApproval))
            #expect(outcome.gave.error == nil)
        }
    }

    @Test func `B-TM-12 a cloud that changes the answer after the key was revealed`() async throws {
        try await refused(.approvalAnswerChanged) { _, exchange in
            guard exchange.device == "ada/laptop" else { return }
            exchange.changeRequests {
                if $0["publicKey"] != nil { $0["answer"] = JSON(base64: [UInt8](repeating: 9, count: 32)) }
            }
        } _: { outcome in
            #expect(outcome.asked.error as? KeyRequestError == .contradicted)
        }
    }

    @Test func `B-TM-12 a cloud that repeats an earlier approval`() async throws {
        try await HostileCloud.run { cloud in
            let old = try await cloud.device("ada")
            let first = try await keyless(cloud)
            #expect(await exchange(first, old).asked.error == nil)
            let earlier = try #require(
                cloud.liar.traffic.last { $0.endpoint == "approvals/approve" }?.request["sealed"])
            let second = try await keyless(cloud, "ada/tablet")
            cloud.liar.tell { exchange in
                guard exchange.device == "ada/tablet" else { return }
                exchange.changeRequests { if $0["publicKey"] != nil { $0["sealed"] = earlier } }
            }
            let outcome = await exchange(second, old)
            cloud.liar.stop()
            #expect(cloud.liar.told > 0)
            expect(outcome, of: .approvalRepeated)
            #expect(outcome.asked.error as? EncryptionError == .doesNotOpen(.keyApproval))
            #expect(try second.configuration.deviceProfile.keychain() == nil)
        }
    }
}

extension Result {
    fileprivate var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}

extension SignInError {
    fileprivate var isThrottled: Bool { if case .refused(let refusal) = self { refusal.status == 429 } else { false } }
}

extension Exchange {
    /// Changes the requests for keys in an answer.
    fileprivate mutating func changeRequests(_ body: (inout JSON) -> Void) {
        guard endpoint == "approvals/list" else { return }
        change { $0.mutateItems(of: "requests") { for index in $0.indices { body(&$0[index]) } } }
    }
}

extension Ghost {
    /// The request that the ghost makes in the place of another device; the same each time.
    fileprivate var request: KeyRequest { get throws { try KeyRequest(random: Randomness(FixedBytes())) } }
}

/// Gives the same bytes whenever it is asked anew.
private struct FixedBytes: RandomNumberGenerator {
    private var state: UInt64 = 1
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1
        return state
    }
}
