import SeededChance
import Testing

@testable import CloudKitEncryption

/// The codes by which the person sees that two devices mean each other, and the secret that is sealed between them.
@Suite(.timeLimit(.minutes(20))) struct KeyApprovalTests {
    private let secret: AccountSecret
    private let other: AccountSecret
    private let request: KeyRequest
    private let answer = [UInt8](repeating: 7, count: 32)

    init() throws {
        secret = try AccountSecret(bytes: Array(0..<32))
        other = try AccountSecret(bytes: Array(32..<64))
        request = try KeyRequest(random: Randomness(SplitMix64(seed: 1)))
    }

    private func asking(_ change: (inout View) -> Void = { _ in }) throws -> KeyApproval {
        var view = View(answer: answer, identity: try secret.identity().publicIdentity)
        change(&view)
        return try KeyApproval(
            of: request, device: view.device, approver: view.approver, answer: view.answer, identity: view.identity)
    }

    private func approving(
        _ request: KeyRequest? = nil, commitment: [UInt8]? = nil, by secret: AccountSecret? = nil
    ) throws -> KeyApproval {
        let request = request ?? self.request
        return try KeyApproval(
            device: "new", approver: "old", commitment: commitment ?? request.commitment, publicKey: request.publicKey,
            nonce: request.nonce, answer: answer, secret: secret ?? self.secret)
    }

    private struct View {
        var device = "new"
        var approver = "old"
        var answer: [UInt8]
        var identity: PublicIdentity
    }

    @Test func `two devices that mean each other show the same codes, and the secret opens`() throws {
        let (asking, approving) = (try asking(), try approving())
        #expect(asking.code == approving.code && asking.confirmation == approving.confirmation)
        #expect(asking.code.count == 6 && asking.code != asking.confirmation)
        let sealed = try approving.seal(secret)
        #expect(sealed.count == 81)
        let opened = try asking.open(sealed, with: request)
        #expect(opened.bytes == secret.bytes)
        #expect(asking.receipt(opened) == approving.receipt(secret))
        #expect(asking.receipt(other) != approving.receipt(secret))
    }

    @Test func `whatever is exchanged on the way shows in both codes, and in what opens`() throws {
        let stranger = try other.identity().publicIdentity
        let changes: [(inout View) -> Void] = [
            { $0.device = "other" }, { $0.approver = "other" }, { $0.answer[31] ^= 1 }, { $0.identity = stranger },
        ]
        let honest = try approving()
        let sealed = try honest.seal(secret)
        for change in changes {
            let view = try asking(change)
            #expect(view.code != honest.code && view.confirmation != honest.confirmation)
            #expect(throws: EncryptionError.doesNotOpen(.keyApproval)) { try view.open(sealed, with: request) }
        }
        let swapped = try approving(KeyRequest(random: Randomness(SplitMix64(seed: 2))))
        #expect(try swapped.code != asking().code && swapped.confirmation != asking().confirmation)
        #expect(throws: EncryptionError.doesNotOpen(.keyApproval)) {
            try asking().open(swapped.seal(secret), with: request)
        }
    }

    @Test func `a key to which the device did not commit itself is refused`() throws {
        let another = try KeyRequest(random: Randomness(SplitMix64(seed: 2)))
        let error = #expect(throws: EncryptionError.self) { try approving(another, commitment: request.commitment) }
        guard case .contradicted(.keyApproval, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `keys of another account are not kept`() throws {
        // Sealed for the right exchange, by an approval that claims the account's identity.
        let error = #expect(throws: EncryptionError.self) { try asking().open(approving().seal(other), with: request) }
        guard case .contradicted(.keyApproval, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(throws: EncryptionError.doesNotOpen(.keyApproval)) {
            try asking().open(approving(by: other).seal(other), with: request)
        }
    }

    @Test func `what is damaged, cut or of another length is refused`() throws {
        let sealed = try approving().seal(secret)
        for index in sealed.indices {
            var damaged = sealed
            damaged[index] ^= 1
            #expect(throws: EncryptionError.self) { try asking().open(damaged, with: request) }
        }
        for count in 0..<sealed.count {
            #expect(throws: EncryptionError.self) { try asking().open(Array(sealed.prefix(count)), with: request) }
        }
        #expect(throws: EncryptionError.self) { try asking().open(sealed + [0], with: request) }
        #expect(throws: EncryptionError.self) { try asking { $0.answer.removeLast() } }
    }

    @Test func `codes are compared digit by digit, spaces aside`() {
        #expect(KeyApproval.isTyped("123 456", for: "123456"))
        #expect(KeyApproval.isTyped(" 123456\n", for: "123456"))
        for typed in ["", "123457", "12345", "1234567", "１２３４５６", "yes"] {
            #expect(!KeyApproval.isTyped(typed, for: "123456"))
        }
    }
}
