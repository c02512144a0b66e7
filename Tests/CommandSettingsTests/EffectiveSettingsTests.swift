import CommandSettings
import Testing

@Suite("Settings of a command", .timeLimit(.minutes(1)))
struct EffectiveSettingsTests {
    private let options = [
        CommandOption(name: "port", kind: .value, defaultValue: "8080"),
        CommandOption(name: "behind-proxy", kind: .flag),
        CommandOption(name: "operator-host", kind: .repeated), CommandOption(name: "public-url", kind: .value),
    ]

    private func merge(
        _ commandLine: [String] = [], environment: [String: String] = [:], file: String? = nil
    ) throws -> EffectiveSettings {
        try EffectiveSettings(
            of: options, commandLine: commandLine, environment: environment, file: file.map { try SettingsFile($0) })
    }

    @Test func `the command line is before the environment, that before the file, that before the default`() throws {
        let all = try merge(["--port", "1"], environment: ["WELKIN_PORT": "2"], file: "port = 3")
        #expect(all.settings[0].values == ["1"])
        #expect(all.settings[0].source == .commandLine)
        #expect(all.arguments() == ["--port", "1"])
        #expect(try merge(["--port=1"], file: "port = 3").settings[0].values == ["1"])
        let two = try merge(environment: ["WELKIN_PORT": "2"], file: "port = 3")
        #expect(two.settings[0].source == .environment("WELKIN_PORT"))
        #expect(two.arguments() == ["--port=2"])
        let one = try merge(file: "\nport = 3")
        #expect(one.settings[0].source == .file(line: 2))
        #expect(one.arguments() == ["--port=3"])
        let none = try merge()
        #expect(none.settings[0].values == ["8080"])
        #expect(none.settings[0].source == .defaultValue)
        #expect(none.arguments() == [])
    }

    @Test func `a list on the command line replaces that of the file`() throws {
        let file = "operator-host = [\"a\", \"b\"]"
        #expect(try merge(file: file).arguments() == ["--operator-host=a", "--operator-host=b"])
        #expect(try merge(["--operator-host", "c"], file: file).arguments() == ["--operator-host", "c"])
        #expect(try merge(environment: ["WELKIN_OPERATOR_HOST": "d, e"]).settings[2].values == ["d", "e"])
    }

    @Test func `a flag of the file is turned off by the environment`() throws {
        #expect(try merge(file: "behind-proxy = true").arguments() == ["--behind-proxy"])
        let off = try merge(environment: ["WELKIN_BEHIND_PROXY": "no"], file: "behind-proxy = true")
        #expect(off.arguments() == [])
        #expect(off.settings[1].values == [])
    }

    @Test func `mistakes name the setting and its place`() {
        for (file, words) in [
            ("prot = 1", "did you mean `port`?"), ("behind-proxy = \"x\"", "`behind-proxy` on line 1"),
            ("port = [1, 2]", "not a list"), ("public-url = true", "in quotes"),
            ("zzzzzzzz = 1", "no setting `zzzzzzzz`"),
        ] {
            let error = #expect(throws: SettingsError.self) { try merge(file: file) }
            #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
        }
        #expect(throws: SettingsError.notAFlag(place: "WELKIN_BEHIND_PROXY")) {
            try merge(environment: ["WELKIN_BEHIND_PROXY": "maybe"])
        }
    }

    @Test func `an option that is read elsewhere is left out`() throws {
        let settings = try merge(["--behind-proxy"], environment: ["WELKIN_PUBLIC_URL": "https://a"], file: "port = 3")
        #expect(settings.arguments(withoutOptions: ["public-url", "behind-proxy"]) == ["--port=3", "--behind-proxy"])
    }

    @Test func `what follows two hyphens names no option`() throws {
        #expect(try merge(["--", "--port", "1"], file: "port = 3").settings[0].values == ["3"])
    }
}
