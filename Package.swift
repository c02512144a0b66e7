// swift-tools-version: 6.2
import PackageDescription

// The modules of Welkin and their dependencies (see docs/architecture.md).
// Dependencies are declared only here; the build rejects undeclared imports.

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
]

/// The settings of modules that handle requests: async functions run on the caller's executor. Otherwise every read of a write
/// would switch executors, which took 7 % of a save's processor time.
let callerIsolated = strict + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

/// Dependencies of the server alone. SwiftPM does not fetch what is behind a trait that an app turns off.
let cloud = TargetDependencyCondition.when(traits: ["Cloud"])

let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird", condition: cloud)
let hummingbirdTLS = Target.Dependency.product(
    name: "HummingbirdTLS", package: "hummingbird", condition: .when(traits: ["TLS"]))
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["TLS"]))
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio", condition: cloud)
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio", condition: cloud)
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio", condition: cloud)
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio", condition: cloud)
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types", condition: cloud)
let logging = Target.Dependency.product(name: "Logging", package: "swift-log", condition: cloud)
let metrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics", condition: cloud)
let metricsTestKit = Target.Dependency.product(name: "MetricsTestKit", package: "swift-metrics", condition: cloud)
let lifecycle = Target.Dependency.product(
    name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: cloud)
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser", condition: cloud)

let package = Package(
    name: "welkin",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "CloudKit", targets: ["CloudKit"]),
        .library(name: "CloudKitUI", targets: ["CloudKitUI"]),
        .library(name: "CoreLocation", targets: ["CoreLocation"]),
        .library(name: "CloudKitTesting", targets: ["CloudKitTesting"]),
        .executable(name: "welkin", targets: ["welkin"]),
        .executable(name: "cktool", targets: ["cktool"]),
        .executable(name: "contacts-demo", targets: ["contacts-demo"]),
        .executable(name: "sync-demo", targets: ["sync-demo"]),
        .executable(name: "console-demo", targets: ["console-demo"]),
        .executable(name: "shopping-demo", targets: ["shopping-demo"]),
        .executable(name: "shopping-daemon", targets: ["shopping-daemon"]),
    ],
    traits: [
        .default(enabledTraits: ["Cloud"]),
        // An app that uses the product CloudKit alone turns this off and fetches swift-crypto only (docs/performance.md).
        .trait(name: "Cloud", description: "Enables `welkin` and `CloudKitTesting`."),
        // TLS needs a second copy of BoringSSL and several minutes of a first build, so it is built only on request.
        .trait(name: "TLS", description: "Enables HTTPS in `welkin serve`.", enabledTraits: ["Cloud"]),
    ],
    // Ranges, so that apps with other packages resolve and security patches arrive without a new version of Welkin; the tests run with the newest
    // versions in them that a build finds.
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    ],
    targets: [
        // Layer 0: bytes, independent of CloudKit.
        .target(name: "TextEncodings", swiftSettings: strict),
        .target(name: "JSONBytes", dependencies: ["TextEncodings"], swiftSettings: strict),
        .target(name: "AsyncLocks", swiftSettings: callerIsolated),
        .target(name: "OrderedStore", dependencies: ["AsyncLocks"], swiftSettings: callerIsolated),
        // A call of Linux that begins to write a file to the disk.
        .systemLibrary(name: "CFileWriteback"),
        .target(
            name: "FileStore",
            dependencies: [.target(name: "CFileWriteback", condition: .when(platforms: [.linux]))],
            swiftSettings: strict),
        .target(name: "CommandSettings", swiftSettings: strict),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .target(
            name: "OrderedStoreSQLite", dependencies: ["AsyncLocks", "OrderedStore", "CSQLite"],
            swiftSettings: callerIsolated),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "OrderedStorePostgres", dependencies: ["AsyncLocks", "OrderedStore", "CPostgres"],
            swiftSettings: callerIsolated),
        .systemLibrary(name: "CMalloc"),
        // The commit of a release, given with -Xcc -DWELKIN_COMMIT=…
        .target(name: "CBuildInfo"),
        // Gives back memory of the program itself.
        .target(name: "CProgramPages"),
        // The pages of CloudKitHTTP.
        .target(name: "CPageContent"),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(name: "HTTPTransfer", dependencies: ["CCurl"], swiftSettings: strict),
        .target(name: "FileStoreRows", dependencies: ["FileStore", "OrderedStore"], swiftSettings: strict),
        .target(
            name: "FileStoreS3", dependencies: ["AsyncLocks", "FileStore", "HTTPTransfer", "TextEncodings", crypto],
            swiftSettings: strict),

        // Layer 1: values and their validation.
        .target(name: "CloudKitModel", dependencies: ["JSONBytes", "TextEncodings"], swiftSettings: strict),
        .target(name: "CloudKitSchema", dependencies: ["CloudKitModel"], swiftSettings: strict),
        // Names for `import CloudKit.CKRecord` and its like.
        .systemLibrary(name: "CloudKitHeaders"),
        .target(name: "CoreLocation", dependencies: ["CloudKitHeaders"], swiftSettings: strict),
        .target(name: "FoundationPredicates", swiftSettings: strict),
        .target(name: "IdentityDirectory", dependencies: [crypto], swiftSettings: strict),
        // Signatures of authenticators (passkeys) and of providers of identities (OpenID Connect), verified.
        .target(name: "WebCredentials", dependencies: ["TextEncodings", crypto, cryptoExtras], swiftSettings: strict),
        // Moments of a data folder: chunks by digest, manifests, sealing.
        .target(name: "CloudBackup", dependencies: ["TextEncodings", crypto, cryptoExtras], swiftSettings: strict),
        .target(
            name: "CloudBackupS3", dependencies: ["CloudBackup", "FileStore", "FileStoreS3"], swiftSettings: strict),

        // Layer 2: records on an ordered store; bodies on the wire; keys and encryption; a device's credentials.
        .target(
            name: "CloudKitRecordLayer", dependencies: ["CloudKitModel", "OrderedStore", "FileStore", "JSONBytes"],
            swiftSettings: callerIsolated),
        .target(
            name: "CloudKitWire", dependencies: ["CloudKitModel", "JSONBytes", "TextEncodings"], swiftSettings: strict),
        .target(
            name: "CloudKitEncryption", dependencies: ["TextEncodings", crypto, cryptoExtras], swiftSettings: strict),
        .target(
            name: "CloudKitDevice", dependencies: ["CloudKitEncryption", "TextEncodings", crypto], swiftSettings: strict
        ),

        // The log of requests and the telemetry made of it; the engine that keeps them in a file of their own.
        .target(name: "CloudKitLogs", dependencies: ["CloudKitModel"], swiftSettings: strict),
        .target(
            name: "CloudKitLogsSQLite", dependencies: ["CloudKitLogs", "CSQLite"], swiftSettings: strict),

        // Layer 3: the operations of the cloud; the framework that apps import.
        .target(
            name: "CloudKitAccounts",
            dependencies: [
                "AsyncLocks", "CloudKitModel", "CloudKitRecordLayer", "IdentityDirectory", "JSONBytes", "TextEncodings",
                "WebCredentials", crypto,
            ],
            swiftSettings: callerIsolated),
        .target(
            name: "CloudKitServer",
            dependencies: [
                "AsyncLocks", "CloudKitAccounts", "CloudKitModel", "CloudKitRecordLayer", "CloudKitSchema",
                "TextEncodings", crypto,
            ],
            swiftSettings: callerIsolated),
        .target(
            name: "CloudKitClient",
            dependencies: [
                "TextEncodings", "CloudKitModel", "CloudKitWire", "CloudKitEncryption", "CloudKitDevice",
                "HTTPTransfer", "IdentityDirectory", crypto,
                .target(name: "CFileWriteback", condition: .when(platforms: [.linux])),
            ], swiftSettings: strict),
        .target(
            name: "CloudKit",
            dependencies: [
                "AsyncLocks", "TextEncodings", "CloudKitClient", "CloudKitModel", "CloudKitWire", "CloudKitEncryption",
                "CloudKitDevice",
                "CoreLocation", "FoundationPredicates",
            ], swiftSettings: strict),

        // Layer 4: a person's data as a folder.
        .target(
            name: "AccountArchive",
            dependencies: ["CloudKitClient", "CloudKitDevice", "CloudKitModel", "JSONBytes", "TextEncodings", crypto],
            swiftSettings: strict),

        // Layer 4: the sharing panel of apps.
        .target(
            name: "CloudKitUI", dependencies: ["AsyncLocks", "CloudKit"], resources: [.embedInCode("Content")],
            swiftSettings: strict),

        // Layer 4: the cloud over HTTP.
        .target(
            name: "CloudKitHTTP",
            dependencies: [
                "CPageContent", "CloudKitAccounts", "CloudKitLogs", "CloudKitModel", "CloudKitServer", "CloudKitWire",
                "IdentityDirectory",
                "TextEncodings", "WebCredentials", hummingbirdCore,
                crypto, httpTypes, logging, lifecycle, metrics, nioCore, nioHTTP1, nioPosix,
            ], exclude: ["Pages/Content"], swiftSettings: callerIsolated),

        // The pages of operators.
        .target(
            name: "Console",
            dependencies: [
                "CloudKitAccounts", "CloudKitHTTP", "CloudKitLogs", "CloudKitModel", "CloudKitSchema", "CloudKitServer",
                "CloudKitWire", "JSONBytes", "TextEncodings", httpTypes, logging,
            ], resources: [.embedInCode("Content")], swiftSettings: callerIsolated),

        // A push service for browsers
        .target(
            name: "WebPush",
            dependencies: [
                "CloudKitAccounts", "CloudKitModel", "CloudKitServer", "HTTPTransfer", "TextEncodings", crypto,
            ],
            swiftSettings: strict),

        // Sign-in at a provider of identities.
        .target(
            name: "OpenIDConnect",
            dependencies: [
                "AsyncLocks", "CloudKitAccounts", "HTTPTransfer", "TextEncodings", "WebCredentials", crypto,
            ],
            swiftSettings: strict),

        // Layer 5: programs.
        .executableTarget(
            name: "welkin",
            dependencies: [
                "AccountArchive", "CloudBackup", "CloudBackupS3", "CloudKit", "CloudKitAccounts", "CloudKitLogs",
                "CloudKitLogsSQLite",
                "CloudKitModel",
                "CloudKitSchema",
                "CloudKitServer", "CloudKitHTTP",
                "CloudKitDevice", "CloudKitUI",
                "OrderedStore", "OrderedStorePostgres", "OrderedStoreSQLite", "FileStore", "FileStoreRows",
                "FileStoreS3",
                "HTTPTransfer", "IdentityDirectory", "OpenIDConnect", "WebPush", "Console", "CommandSettings",
                "CBuildInfo", "CProgramPages",
                hummingbirdCore, hummingbirdTLS,
                nioCore, nioSSL, crypto, cryptoExtras,
                arguments,
                lifecycle,
                logging,
                .target(name: "CMalloc", condition: .when(platforms: [.linux])),
            ], swiftSettings: strict),
        // Schemas and records of a container over HTTP.
        .executableTarget(
            name: "cktool", dependencies: ["CloudKitDevice", "HTTPTransfer", "TextEncodings", arguments],
            swiftSettings: strict),
        // A temporary cloud for the tests of apps.
        .target(
            name: "CloudKitTesting",
            dependencies: [
                "AsyncLocks", "TextEncodings", "CloudKitAccounts", "CloudKit", "CloudKitClient", "CloudKitDevice",
                "CloudKitHTTP", "CloudKitModel", "CloudKitSchema", "CloudKitServer", "CoreLocation",
                "OrderedStore", "FileStore", lifecycle, logging,
            ], swiftSettings: strict),
        .executableTarget(name: "contacts-demo", dependencies: ["CloudKit"], swiftSettings: strict),
        .executableTarget(name: "sync-demo", dependencies: ["CloudKit"], swiftSettings: strict),
        .executableTarget(name: "console-demo", dependencies: ["CloudKit"], swiftSettings: strict),
        .executableTarget(name: "shopping-demo", dependencies: ["CloudKit", "CloudKitUI"], swiftSettings: strict),
        .executableTarget(name: "shopping-daemon", dependencies: ["CloudKit"], swiftSettings: strict),

        // Tests, from pure functions to processes that are killed.
        .target(name: "SeededChance", path: "Tests/SeededChance", swiftSettings: strict),
        // A PostgreSQL server of the tests' own.
        .target(
            name: "PostgresServer", dependencies: ["FreePorts", "OrderedStore", "OrderedStorePostgres"],
            path: "Tests/PostgresServer", swiftSettings: strict),
        .target(name: "FreePorts", path: "Tests/FreePorts", swiftSettings: strict),
        .target(name: "AccessTable", path: "Tests/AccessTable", swiftSettings: strict),
        .target(
            name: "RandomSchemas", dependencies: ["CloudKitModel", "CloudKitSchema"], path: "Tests/RandomSchemas",
            swiftSettings: strict),
        // The server's time and randomness, set by hand.
        .target(
            name: "TestEnvironment", dependencies: ["CloudKitAccounts", "SeededChance"], path: "Tests/TestEnvironment",
            swiftSettings: strict),
        .target(
            name: "ServedApplication", dependencies: ["CloudKitHTTP", lifecycle, logging],
            path: "Tests/ServedApplication", swiftSettings: callerIsolated),
        .target(
            name: "FaultyNetwork", dependencies: ["CloudKitClient", nioCore, nioPosix, nioSSL],
            path: "Tests/FaultyNetwork",
            swiftSettings: strict),
        .testTarget(
            name: "HTTPTransferTests", dependencies: ["HTTPTransfer", "FaultyNetwork", "MailReceiver"],
            swiftSettings: strict),
        // A mail server on a socket, which keeps the messages that it takes.
        .target(name: "MailReceiver", path: "Tests/MailReceiver", swiftSettings: strict),
        // A simulated browser, which receives, decrypts and verifies Web Push messages.
        .target(
            name: "PushReceiver", dependencies: ["FaultyNetwork", crypto], path: "Tests/PushReceiver",
            swiftSettings: strict),
        .testTarget(
            name: "WebPushTests",
            dependencies: [
                "SeededChance", "WebPush", "PushReceiver", "FaultyNetwork", "CloudKitAccounts",
                "CloudKitModel",
                "CloudKitServer", "HTTPTransfer", crypto,
            ],
            swiftSettings: strict),
        .testTarget(name: "AsyncLocksTests", dependencies: ["AsyncLocks"], swiftSettings: callerIsolated),
        .testTarget(
            name: "TextEncodingsTests", dependencies: ["TextEncodings", "SeededChance"], swiftSettings: strict),
        .testTarget(name: "JSONBytesTests", dependencies: ["JSONBytes", "SeededChance"], swiftSettings: strict),
        .testTarget(
            name: "OrderedStoreTests",
            dependencies: [
                "SeededChance", "OrderedStore", "OrderedStorePostgres", "OrderedStoreSQLite", "PostgresServer",
                "CSQLite",
            ],
            swiftSettings: callerIsolated),
        // The files and the memory of SQLite with faults, and trials of the engine on them in a process of their own.
        .target(name: "CFaultyFiles", dependencies: ["CSQLite"], path: "Tests/CFaultyFiles"),
        .executableTarget(
            name: "store-trials",
            dependencies: [
                "SeededChance", "CFaultyFiles", "CSQLite", "FileStore", "OrderedStore", "OrderedStoreSQLite",
            ],
            path: "Tests/StoreTrials", swiftSettings: strict),
        .testTarget(
            name: "StoreTrialsTests", dependencies: ["CloudUnderTest", "store-trials"], swiftSettings: strict),
        // An authenticator, and a provider's tokens, true and false ones.
        .target(
            name: "SimulatedSigners", dependencies: ["TextEncodings", crypto, cryptoExtras],
            path: "Tests/SimulatedSigners", swiftSettings: strict),
        .testTarget(
            name: "OpenIDConnectTests",
            dependencies: [
                "CloudKitAccounts", "FaultyNetwork", "HTTPTransfer", "OpenIDConnect", "SimulatedSigners",
                "TestEnvironment",
                "TextEncodings", "WebCredentials", crypto, nioCore,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "WebCredentialsTests",
            dependencies: [
                "SeededChance", "SimulatedSigners", "TextEncodings", "WebCredentials", crypto, cryptoExtras,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "CloudBackupTests",
            dependencies: [
                "CloudBackup", "CloudBackupS3", "SeededChance", "OrderedStore", "OrderedStoreSQLite", "FileStore",
                "FileStoreS3", "HTTPTransfer", "ObjectServer",
            ],
            swiftSettings: callerIsolated),
        // A server with the interface of S3: OpenStack Swift, in a folder of its own; and one in memory with faults.
        .target(
            name: "ObjectServer", dependencies: ["FileStoreS3", "FreePorts", "HTTPTransfer"],
            path: "Tests/ObjectServer",
            swiftSettings: strict),
        .testTarget(
            name: "FileStoreTests",
            dependencies: [
                "SeededChance", "FileStore", "FileStoreRows", "FileStoreS3", "HTTPTransfer", "ObjectServer",
                "OrderedStore",
                "OrderedStorePostgres", "OrderedStoreSQLite", "PostgresServer",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "CloudKitModelTests", dependencies: ["SeededChance", "CloudKitModel", "JSONBytes"],
            swiftSettings: strict),
        .testTarget(
            name: "CloudKitWireTests", dependencies: ["SeededChance", "CloudKitModel", "CloudKitWire"],
            swiftSettings: strict),
        .testTarget(
            name: "CloudKitSchemaTests",
            dependencies: ["CloudKitModel", "CloudKitSchema", "RandomSchemas", "SeededChance"],
            swiftSettings: strict),
        .testTarget(
            name: "CloudKitRecordLayerTests",
            dependencies: [
                "SeededChance", "CloudKitModel", "CloudKitRecordLayer", "OrderedStore", "OrderedStoreSQLite", "CSQLite",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "CloudKitLogsTests",
            dependencies: ["SeededChance", "CloudKitLogs", "CloudKitLogsSQLite", "CloudKitModel", "CSQLite"],
            swiftSettings: strict),
        .testTarget(
            name: "CloudKitAccountsTests",
            dependencies: [
                "TestEnvironment", "CloudKitAccounts", "CloudKitModel", "CloudKitRecordLayer", "IdentityDirectory",
                "OrderedStore", "SimulatedSigners", "TextEncodings", "WebCredentials", crypto,
            ], swiftSettings: strict),
        .testTarget(
            name: "CloudKitServerTests",
            dependencies: [
                "PostgresServer",
                "SeededChance", "RandomSchemas", "TestEnvironment", "CloudKitAccounts",
                "CloudKitModel", "CloudKitRecordLayer", "CloudKitSchema", "CloudKitServer", "OrderedStore",
                "OrderedStoreSQLite", "FileStore", "CSQLite", "IdentityDirectory", crypto,
            ], exclude: ["Upgrades/Samples"], swiftSettings: strict),
        .testTarget(
            name: "CloudKitEncryptionTests", dependencies: ["CloudKitEncryption", "SeededChance"],
            exclude: ["Vectors/vectors.json"], swiftSettings: strict),
        .testTarget(
            name: "CloudKitDeviceTests", dependencies: ["CloudKitDevice", "CloudKitEncryption"], swiftSettings: strict),
        .testTarget(
            name: "IdentityDirectoryTests", dependencies: ["IdentityDirectory", "SeededChance", crypto],
            exclude: ["Vectors/directory.json"], swiftSettings: strict),
        .testTarget(name: "CoreLocationTests", dependencies: ["CoreLocation"], swiftSettings: strict),
        // A cloud that answers what its test tells it to, for the client engine and the framework over it.
        .target(
            name: "ScriptedCloud",
            dependencies: ["CloudKitClient", "CloudKitDevice", "CloudKitEncryption", "CloudKitModel", "CloudKitWire"],
            path: "Tests/ScriptedCloud", swiftSettings: strict),
        .testTarget(
            name: "CloudKitClientTests",
            dependencies: [
                "ScriptedCloud", "CloudKitClient", "CloudKitDevice", "CloudKitEncryption", "CloudKitModel",
                "CloudKitWire", crypto,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "CloudKitTests",
            dependencies: [
                "SeededChance", "FaultyNetwork", "ScriptedCloud", "CloudKit", "CloudKitClient", "CloudKitDevice",
                "CloudKitEncryption",
                "CloudKitModel",
                "CloudKitWire", "CoreLocation", "JSONBytes",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "CloudKitHTTPTests",
            dependencies: [
                "PostgresServer",
                "AccessTable", "SeededChance", "CloudKitAccounts", "CloudKitHTTP", "CloudKitLogs",
                "CloudKitLogsSQLite", "CloudKitModel",
                "CloudKitRecordLayer",
                "CloudKitServer", "CloudKitWire", "IdentityDirectory", "OrderedStore", "FileStore", "ServedApplication",
                "SimulatedSigners", "TextEncodings", "WebCredentials",
                hummingbirdCore, crypto, httpTypes, logging, metrics, metricsTestKit, nioCore,
            ], exclude: ["StoredBytes/Golden"], swiftSettings: callerIsolated),
        .testTarget(
            name: "ConsoleTests",
            dependencies: [
                "CloudKitAccounts", "CloudKitHTTP", "CloudKitLogs", "CloudKitModel", "CloudKitRecordLayer",
                "CloudKitSchema", "CloudKitServer", "Console", "FileStore", "HTTPTransfer", "OrderedStore",
                "OrderedStoreSQLite", "ServedApplication", "TestEnvironment", "TextEncodings", logging,
            ], swiftSettings: callerIsolated),
        // The server and the encryption together, with many seeds; the only target that imports modules of both sides.
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "PostgresServer",
                "CloudKitAccounts", "AccessTable", "SeededChance", "CloudKit", "CloudKitClient", "CloudKitEncryption",
                "CloudKitModel",
                "CloudKitServer",
                "FileStore", "OrderedStore", "OrderedStoreSQLite", "CSQLite",
            ], swiftSettings: strict),
        // Clocks, randomness and threads of a process, replaced by ones that follow from a seed.
        .target(name: "CDeterministicProcess", path: "Tests/CDeterministicProcess"),
        // The framework and the cloud in one process, over a simulated network, in histories that follow from seeds.
        .executableTarget(
            name: "whole-stack-simulation",
            dependencies: [
                "AccountArchive", "CDeterministicProcess", "SeededChance", "CloudKit", "CloudKitAccounts",
                "CloudKitClient", "CloudKitDevice", "CloudKitHTTP", "CloudKitModel", "CloudKitServer", "CoreLocation",
                "FileStore",
                "OrderedStore", "JSONBytes", hummingbirdCore, httpTypes, logging, nioCore, nioEmbedded,
            ],
            path: "Tests/WholeStackSimulation", swiftSettings: callerIsolated),
        // Without a dependency on the program: what it replaces must not reach the process of the tests.
        .testTarget(
            name: "WholeStackSimulationTests", dependencies: ["AsyncLocks", "CloudUnderTest"], swiftSettings: strict),
        .testTarget(name: "ContactsDemoTests", dependencies: ["contacts-demo"], swiftSettings: strict),
        .testTarget(
            name: "CloudKitUITests",
            dependencies: ["CloudKit", "CloudKitTesting", "CloudKitUI", "HTTPTransfer", "SeededChance"],
            exclude: ["QRCodes/Vectors"], swiftSettings: strict),
        .testTarget(
            name: "ConformanceTests",
            dependencies: [
                "CloudBackup", "CloudKitAccounts", "OrderedStore", "OrderedStoreSQLite", "PostgresServer",
                "ScriptedCloud", "SeededChance", "FaultyNetwork", "CloudKit",
                "CloudKitClient", "CloudKitDevice", "CloudKitEncryption",
                "CloudKitModel",
                "CloudKitServer", "CloudKitTesting", "FileStore", "IdentityDirectory", crypto,
            ], swiftSettings: strict),
        .testTarget(
            name: "AccountArchiveTests",
            dependencies: [
                "AccountArchive", "CloudKit", "CloudKitClient", "CloudKitModel", "CloudKitSchema", "CloudKitTesting",
                "CoreLocation", "ScriptedCloud",
            ], swiftSettings: strict),
        .executableTarget(
            name: "long-lived-app", dependencies: ["CloudKit"], path: "Tests/LongLivedApp", swiftSettings: strict),
        // An app on a device, beside the browser of script/check-browser.
        .executableTarget(
            name: "browser-peer", dependencies: ["CloudKit"], path: "Tests/BrowserPeer", swiftSettings: strict),
        .testTarget(
            name: "CloudKitTestingTests",
            dependencies: ["CloudKitTesting", "CloudKit", "CloudUnderTest", "long-lived-app"], swiftSettings: strict),
        .target(name: "Notes", dependencies: ["CloudKit"], path: "Examples/Notes/Sources", swiftSettings: strict),
        .testTarget(
            name: "NotesTests", dependencies: ["Notes", "CloudKit", "CloudKitTesting"], path: "Examples/Notes/Tests",
            swiftSettings: strict),
        // A cloud in a separate process, accessed over plain HTTP.
        .systemLibrary(name: "CEventPoll", path: "Tests/CEventPoll"),
        .target(
            name: "CloudUnderTest", dependencies: ["CEventPoll"], path: "Tests/CloudUnderTest", swiftSettings: strict),
        .testTarget(
            name: "BlindnessTests",
            dependencies: [
                "CloudUnderTest", "CloudKit", "CloudKitClient", "CloudKitDevice", "CloudKitEncryption", "welkin",
            ],
            swiftSettings: strict),
        // A cloud that lies to devices, with all that it knows.
        .testTarget(
            name: "HostileCloudTests",
            dependencies: [
                "ScriptedCloud", "CloudKitAccounts", "CloudKit", "CloudKitClient", "CloudKitDevice",
                "CloudKitEncryption", "CloudKitModel", "CloudKitTesting", "IdentityDirectory", "JSONBytes",
                "OrderedStore",
            ], swiftSettings: strict),
        .testTarget(
            name: "CommandSettingsTests", dependencies: ["CommandSettings", "SeededChance"], swiftSettings: strict),
        .testTarget(
            name: "WelkinTests",
            dependencies: [
                "CProgramPages", "ObjectServer", "PostgresServer",
                "CloudUnderTest", "FaultyNetwork", "FileStore", "MailReceiver", "OrderedStore", "OrderedStoreSQLite",
                "PushReceiver",
                "CloudKit",
                "CloudKitAccounts", "CloudKitClient", "CloudKitDevice", "CloudKitHTTP", "CloudKitModel",
                "CloudKitServer",
                "CloudKitLogs", "HTTPTransfer", logging, "welkin", "cktool",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "DurabilityTests", dependencies: ["SeededChance", "CloudUnderTest", "welkin"], swiftSettings: strict),
    ]
)

// A build of some test targets and of what they need, for long runs of optimized tests (script/simulate --sequential).
if let tests = Context.environment["WELKIN_ONLY_TESTS"] {
    var targets: Set<String> = []
    var packages: Set<String> = []
    var open = tests.split(separator: ",").map(String.init)
    while let name = open.popLast() {
        guard targets.insert(name).inserted else { continue }
        for dependency in package.targets.first(where: { $0.name == name })?.dependencies ?? [] {
            switch dependency {
            case .targetItem(let name, _), .byNameItem(let name, _): open.append(name)
            case .productItem(_, let package, _, _): packages.insert(package ?? "")
            @unknown default: break
            }
        }
    }
    package.products = []
    package.targets.removeAll { !targets.contains($0.name) }
    package.dependencies.removeAll { dependency in
        guard case .sourceControl(_, let location, _) = dependency.kind else { return false }
        return !packages.contains { location.hasSuffix("/" + $0) }
    }
}
