import CloudKit

extension BinaryInteger {
    /// `1,000`, whatever the locale.
    var grouped: String {
        var digits = String(magnitude)
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        groups.insert(digits, at: 0)
        return (self < 0 ? "-" : "") + groups.joined(separator: ",")
    }

    /// `1 contact`, `1,000 contacts`.
    func of(_ noun: String, _ plural: String? = nil) -> String {
        "\(grouped) \(self == 1 ? noun : plural ?? noun + "s")"
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }

    /// `12 ms`, `1.25 s`.
    var shown: String {
        let hundredths = Int((seconds * 100).rounded())
        if seconds < 1 { return "\(Int((seconds * 1000).rounded())) ms" }
        return "\(hundredths / 100).\(String(hundredths % 100).leftPadded(to: 2, with: "0")) s"
    }
}

extension String {
    func leftPadded(to width: Int, with character: Character = " ") -> String {
        String(repeating: character, count: max(0, width - count)) + self
    }
}
