/// Prints recovery words, once.
enum RecoverySheet {
    static func show(_ words: [String]) {
        let rows = stride(from: 0, to: words.count, by: 4).map { start in
            words[start..<min(start + 4, words.count)].enumerated().map { "\(start + $0 + 1). \($1)" }
        }
        Output.result("")
        Output.result("Recovery words, shown only once. Write them down and keep them away from this machine:")
        Output.result("")
        Output.table(rows)
        Output.result("")
        Output.result("Without them and without the password, encrypted data is lost: the cloud cannot decrypt it.")
    }
}
