import CloudKit

/// The addresses that a person typed: e-mail addresses and telephone numbers, with commas, semicolons or lines between them.
struct AddressList: Hashable {
    /// The number of addresses that one action takes; a share has at most 100 people (B-LIM-08).
    static let addressesMax = 100
    private static let addressBytesMax = 320

    let addresses: [String]

    /// - Throws: `PanelProblem` for what is neither an e-mail address nor a telephone number with its country's code.
    init(_ text: String, mayBeEmpty: Bool = false) throws(PanelProblem) {
        var addresses: [String] = []
        for part in text.split(whereSeparator: { ",;".contains($0) || $0.isNewline }) {
            let word = part.trimmingCharacters(in: .whitespaces)
            if word.isEmpty { continue }
            guard let address = Self.address(word) else {
                throw PanelProblem(
                    reason: "\u{201C}\(word.prefix(60))\u{201D} is no e-mail address and no telephone number.",
                    remedy: "Write ben@example.com, or +44 1632 960083 with the country's code.")
            }
            if !addresses.contains(address) { addresses.append(address) }
        }
        guard mayBeEmpty || !addresses.isEmpty else {
            throw PanelProblem(
                reason: "No address was given.", remedy: "Write an e-mail address or a telephone number.")
        }
        guard addresses.count <= Self.addressesMax else {
            throw PanelProblem(reason: "A share has at most 100 people.", remedy: "Add fewer.")
        }
        self.addresses = addresses
    }

    var isEmpty: Bool { addresses.isEmpty }

    /// The addresses as a message names them.
    var text: String {
        addresses.count < 2
            ? addresses.joined()
            : addresses.dropLast().joined(separator: ", ") + " and " + addresses[addresses.count - 1]
    }

    var lookups: [CKUserIdentity.LookupInfo] {
        addresses.map {
            $0.contains("@")
                ? CKUserIdentity.LookupInfo(emailAddress: $0) : CKUserIdentity.LookupInfo(phoneNumber: $0)
        }
    }

    private static func address(_ word: String) -> String? {
        guard word.utf8.count <= addressBytesMax else { return nil }
        if word.contains("@") {
            let parts = word.split(separator: "@", omittingEmptySubsequences: false)
            let isAddress = parts.count == 2 && !parts[0].isEmpty && !parts[1].isEmpty && !word.contains(" ")
            return isAddress ? word : nil
        }
        let digits = word.filter { $0.isASCII && $0.isNumber }
        let isNumber = word.allSatisfy { ($0.isASCII && $0.isNumber) || " +-()./".contains($0) }
        guard isNumber, word.hasPrefix("+"), (5...15).contains(digits.count) else { return nil }
        return "+" + digits
    }
}
