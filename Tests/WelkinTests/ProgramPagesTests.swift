#if os(Linux)
    import CProgramPages
    import Foundation
    import Testing

    @Suite(.timeLimit(.minutes(1)))
    struct ProgramPagesTests {
        @Test func `pages of the program leave memory, and come back when they are needed`() throws {
            let before = try Self.residentFileKibibytes()
            welkin_release_program_pages()
            let after = try Self.residentFileKibibytes()
            #expect(after < before)
            // Code and data that have certainly left memory.
            #expect("Ångström".lowercased().decomposedStringWithCanonicalMapping.unicodeScalars.count == 10)
        }

        /// The pages of files that this process has in memory.
        private static func residentFileKibibytes() throws -> Int {
            let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("RssFile:") })
            return try #require(line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) })
        }
    }
#endif
